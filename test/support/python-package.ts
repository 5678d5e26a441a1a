import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { checkPrerequisites } from '#bin/local/prerequisites.ts'

const run = promisify(execFile)
const cache = join(import.meta.dirname, '../../node_modules/.cache')

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
export async function pythonPackage(tool: string): Promise<string> {
  const { requirements, folder: venv } = await installationOf(tool)
  const marker = join(venv, 'bin', 'installed')
  if (!existsSync(marker)) {
    await installRequirements(requirements, venv)
    await writeFile(marker, '')
  }
  return venv
}

/** Replaces a virtual environment by one with the packages of a file, which has the hashes of all of them. */
export async function installRequirements(file: string, venv: string): Promise<void> {
  const { python } = await checkPrerequisites()
  // uv does not read pip's configuration files. Where it reaches no index, pip installs.
  await installWithUv(python, venv, file).catch(() => installWithPip(python, venv, file))
}

/** Returns the file of a tool's requirements, and the folder of the installation with these requirements. */
async function installationOf(tool: string): Promise<{ requirements: string; folder: string }> {
  const requirements = join(requirementsFolder, `${tool}.txt`)
  const digest = createHash('sha256')
    .update(await readFile(requirements))
    .digest('hex')
  return { requirements, folder: join(cache, `${tool}-${digest.slice(0, 16)}`) }
}

async function installWithUv(python: string, venv: string, requirements: string): Promise<void> {
  const uv = await installedUv(python)
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

/**
 * Returns the path of uv, which installs packages with a tenth of the CPU time of pip. pip installs it once. Test files
 * that run at the same time may both install it.
 */
async function installedUv(python: string): Promise<string> {
  const { requirements, folder } = await installationOf('uv')
  const uv = join(folder, 'bin/uv')
  if (existsSync(uv)) return uv
  const draft = await mkdtemp(`${folder}-`)
  try {
    await installWithPip(python, draft, requirements)
    await rename(draft, folder).catch((failure) => {
      if (!existsSync(uv)) throw failure
    })
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
  return uv
}
