import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ROOT } from '#bin/local/environment.ts'
import { runStep } from '#bin/local/run-step.ts'

/** The local AWS, and what it signs tokens with; its limits were measured with exactly these versions. */
const PACKAGES = ['ministack==1.5.33', 'cryptography==50.0.2']

const HOME = join(ROOT, 'node_modules/.cache/ministack')
/** Written last, so an installation that was interrupted, or that has other versions, is made anew. */
const MARKER = 'installed.txt'

/** The Python of the virtual environment that `installEngine` made. */
export function enginePython(): string {
  return join(HOME, 'bin/python')
}

/**
 * Makes the engine's virtual environment, in place of one that `isEngineInstalled` did not accept.
 * @param python the interpreter found by `checkPrerequisites`
 * @throws StartFailure with pip's output if the packages cannot be had
 */
export async function installEngine(python: string, signal: AbortSignal): Promise<void> {
  // Made aside and moved into place, so that two starts at once never see each other's half of it.
  const aside = `${HOME}-${process.pid}`
  try {
    await rm(aside, { recursive: true, force: true })
    await mkdir(dirname(aside), { recursive: true })
    // The whole shell environment: pip may need a proxy, a certificate or an index that is set there.
    const env = process.env
    const step = { env, signal, name: 'Making the virtual environment of the local AWS' }
    await runStep({ ...step, command: python, args: ['-m', 'venv', aside] })
    const pip = [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--no-compile',
      '--disable-pip-version-check',
      '--prefer-binary',
    ]
    const name = 'Installing the local AWS from PyPI (this first start needs the internet)'
    await runStep({ ...step, name, command: join(aside, 'bin/python'), args: [...pip, ...PACKAGES] })
    writeFileSync(join(aside, MARKER), markerText())
    if (!isEngineInstalled()) {
      await rm(HOME, { recursive: true, force: true })
      await rename(aside, HOME)
    }
  } finally {
    await rm(aside, { recursive: true, force: true })
  }
}

/** Whether the virtual environment is there with exactly the pinned versions. */
export function isEngineInstalled(): boolean {
  // A Python that was removed since leaves a dangling link.
  if (!existsSync(enginePython()) || !existsSync(join(HOME, MARKER))) return false
  return readFileSync(join(HOME, MARKER), 'utf8') === markerText()
}

function markerText(): string {
  return `${PACKAGES.join('\n')}\n`
}
