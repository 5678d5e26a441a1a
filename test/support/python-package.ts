import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { checkPrerequisites } from '#bin/local/prerequisites.ts'

const run = promisify(execFile)
const cache = join(import.meta.dirname, '../../node_modules/.cache')

/**
 * Installs a package from PyPI once, in a separate virtual environment.
 * @returns the folder of the virtual environment
 */
export async function pythonPackage(name: string, version: string): Promise<string> {
  const venv = join(cache, `${name}-${version}`)
  const marker = join(venv, 'bin', 'installed')
  if (!existsSync(marker)) {
    const { python } = await checkPrerequisites()
    await run(python, ['-m', 'venv', venv])
    // Python compiles the modules that it loads. To compile all of them takes a third of the installation.
    const options = ['--quiet', '--disable-pip-version-check', '--no-compile']
    await run(join(venv, 'bin/pip'), ['install', ...options, `${name}==${version}`])
    await writeFile(marker, '')
  }
  return venv
}
