import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { checkPrerequisites } from '#bin/local/prerequisites.ts'

const run = promisify(execFile)
const cache = join(import.meta.dirname, '../../node_modules/.cache')

/** Installs packages with a tenth of the CPU time of pip. */
const uvVersion = '0.13.9'

/**
 * Installs a package from PyPI once, in a separate virtual environment.
 * @param others requirements to install with it
 * @returns the folder of the virtual environment
 */
export async function pythonPackage(name: string, version: string, ...others: string[]): Promise<string> {
  const venv = join(cache, `${name.replace(/\[.*/, '')}-${version}`)
  const marker = join(venv, 'bin', 'installed')
  if (!existsSync(marker)) {
    const { python } = await checkPrerequisites()
    const wanted = [`${name}==${version}`, ...others]
    // uv does not read pip's configuration files. Where it reaches no index, pip installs.
    await installWithUv(python, venv, wanted).catch(() => installWithPip(python, venv, wanted))
    await writeFile(marker, '')
  }
  return venv
}

async function installWithUv(python: string, venv: string, wanted: string[]): Promise<void> {
  const uv = await installedUv(python)
  const { PIP_INDEX_URL: index } = process.env
  const own = { UV_CACHE_DIR: join(cache, 'uv-downloads'), UV_HTTP_TIMEOUT: '120' }
  const env = { ...process.env, ...own, ...(index && { UV_DEFAULT_INDEX: index }) }
  const uvDoes = (...args: string[]) => run(uv, ['--quiet', '--system-certs', ...args], { env })
  // With pip, which the lines of the guide call.
  await uvDoes('venv', '--clear', '--seed', '--python', python, venv)
  await uvDoes('pip', 'install', '--python', join(venv, 'bin/python'), ...wanted)
}

async function installWithPip(python: string, venv: string, wanted: string[]): Promise<void> {
  await run(python, ['-m', 'venv', '--clear', venv])
  await run(join(venv, 'bin/pip'), [
    'install',
    '--quiet',
    '--disable-pip-version-check',
    '--no-compile',
    ...wanted,
  ])
}

/** Returns the path of uv, which pip installs once. Test files that run at the same time may both install it. */
async function installedUv(python: string): Promise<string> {
  const folder = join(cache, `uv-${uvVersion}`)
  const uv = join(folder, 'bin/uv')
  if (existsSync(uv)) return uv
  const draft = await mkdtemp(`${folder}-`)
  try {
    await installWithPip(python, draft, [`uv==${uvVersion}`])
    await rename(draft, folder).catch((failure) => {
      if (!existsSync(uv)) throw failure
    })
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
  return uv
}
