import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, realpathSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { checkPrerequisites } from '#bin/local/prerequisites.ts'

const run = promisify(execFile)
/** Programs of a virtual environment name its folder. A checkout that links node_modules may be removed before them. */
const cache = join(realpathSync(join(import.meta.dirname, '../../node_modules')), '.cache')

/** For each tool, `<tool>.in` with its version, and `<tool>.txt` with all packages that it needs and their hashes. */
export const requirementsFolder = join(import.meta.dirname, 'python')

/** Built files only: the tools that build a source archive have no hashes. */
const strict = ['--require-hashes', '--only-binary', ':all:', '--requirement']

/**
 * Installs a tool from PyPI once, in a separate virtual environment, with exactly the files of its requirements.
 * @param tool the name of its files in `test/support/python`
 * @returns the folder of the virtual environment
 * @throws Error with the output of pip if a file has another hash
 */
export function pythonPackage(tool: string): Promise<string> {
  return installed(tool, installRequirements)
}

/**
 * Returns the folder of a tool, a link to what one process has installed. Test files that run at the same time may each
 * install the tool. The first one to end creates the link, so nobody sees an incomplete installation.
 */
async function installed(
  tool: string,
  install: (requirements: string, venv: string) => Promise<void>,
): Promise<string> {
  const requirements = join(requirementsFolder, `${tool}.txt`)
  const digest = createHash('sha256')
    .update(await readFile(requirements))
    .digest('hex')
  const folder = join(cache, `python-${tool}-${digest.slice(0, 16)}`)
  if (existsSync(folder)) return folder
  await mkdir(cache, { recursive: true })
  const own = await mkdtemp(`${folder}-`)
  try {
    await install(requirements, own)
    await symlink(basename(own), folder)
  } catch (failure) {
    await rm(own, { recursive: true, force: true })
    if (!existsSync(folder)) throw failure
  }
  return folder
}

/** Replaces a virtual environment by one with the packages of a file, which has the hashes of all of them. */
export async function installRequirements(file: string, venv: string): Promise<void> {
  const { python } = await checkPrerequisites()
  // uv does not read pip's configuration files. Where it reaches no index, pip installs.
  await installWithUv(python, venv, file).catch(() => installWithPip(python, venv, file))
}

async function installWithUv(python: string, venv: string, requirements: string): Promise<void> {
  // It needs a tenth of the CPU time of pip, which installs it once.
  const uv = join(await installed('uv', (file, own) => installWithPip(python, own, file)), 'bin/uv')
  const { PIP_INDEX_URL: index } = process.env
  const own = { UV_CACHE_DIR: join(cache, 'uv-downloads'), UV_HTTP_TIMEOUT: '120' }
  const env = { ...process.env, ...own, ...(index && { UV_DEFAULT_INDEX: index }) }
  const uvDoes = (...args: string[]) => run(uv, ['--quiet', '--system-certs', ...args], { env })
  await uvDoes('venv', '--clear', '--python', python, venv)
  await uvDoes('pip', 'install', '--python', join(venv, 'bin/python'), ...strict, requirements)
}

async function installWithPip(python: string, venv: string, requirements: string): Promise<void> {
  await run(python, ['-m', 'venv', '--clear', venv])
  const options = ['--quiet', '--disable-pip-version-check', '--no-compile']
  await run(join(venv, 'bin/pip'), ['install', ...options, ...strict, requirements])
}
