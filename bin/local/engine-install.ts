import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ROOT } from './environment.ts'
import { runStep } from './process.ts'

/**
 * The local AWS, its library for signing tokens and all packages that they need, with hashes: nothing else is installed,
 * whatever an index offers. The limits of the local AWS were measured with exactly these versions.
 */
const REQUIREMENTS = join(import.meta.dirname, 'requirements.txt')

const HOME = join(ROOT, 'node_modules/.cache/ministack')
/** Written last, so an interrupted installation, or one with other versions, is replaced. */
const MARKER = 'installed.txt'
const MARKER_TEXT = readFileSync(REQUIREMENTS, 'utf8')

/** Returns the Python of the virtual environment created by `installEngine`. */
export function enginePython(): string {
  return join(HOME, 'bin/python')
}

/**
 * Creates the engine's virtual environment and replaces one that `isEngineInstalled` rejected.
 * @param python the interpreter found by `checkPrerequisites`
 * @throws StartFailure with pip's output if the packages cannot be installed
 */
export async function installEngine(python: string, signal: AbortSignal): Promise<void> {
  // Created under another name and then renamed, so concurrent starts never see each other's incomplete installation.
  const draft = `${HOME}-${process.pid}`
  const replaced = `${draft}-replaced`
  try {
    await rm(draft, { recursive: true, force: true })
    await mkdir(dirname(draft), { recursive: true })
    // The whole shell environment: pip may need its proxy, certificate or index settings.
    const run = (name: string, command: string, args: string[]) =>
      runStep({ name, command, args, env: process.env, signal })
    await run('Creating the virtual environment of the local AWS', python, ['-m', 'venv', draft])
    // Built files are preferred: the tools that build a source archive have no hashes. Only Macs with Intel need one.
    const options = ['--quiet', '--no-compile', '--disable-pip-version-check', '--prefer-binary']
    const packages = ['--require-hashes', '--requirement', REQUIREMENTS]
    const name = 'Installing the local AWS from PyPI (this first start needs the internet)'
    await run(name, join(draft, 'bin/python'), ['-m', 'pip', 'install', ...options, ...packages])
    writeFileSync(join(draft, MARKER), MARKER_TEXT)
    if (isEngineInstalled()) return
    // An incomplete one is moved away, never deleted in its place: a concurrent start may have replaced it just now.
    await rename(HOME, replaced).catch(() => undefined)
    await rename(draft, HOME).catch((failure) => {
      if (!isEngineInstalled()) throw failure
    })
  } finally {
    await rm(draft, { recursive: true, force: true })
    await rm(replaced, { recursive: true, force: true })
  }
}

/** Returns whether the virtual environment exists with exactly the required packages. */
export function isEngineInstalled(): boolean {
  // If Python was removed since the installation, a dangling link remains.
  if (!existsSync(enginePython()) || !existsSync(join(HOME, MARKER))) return false
  return readFileSync(join(HOME, MARKER), 'utf8') === MARKER_TEXT
}
