import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const version = '1.58.0'
const venv = join(import.meta.dirname, '../../node_modules/.cache', `cfn-lint-${version}`)

/** CDK makes a function wait for its role by name, where the reference to it would do: harmless, and not ours. */
const leftOut = ['W3005']

/**
 * Holds templates against the schemas of CloudFormation.
 * @returns one line for each finding: file, place, rule and text
 */
export async function cfnLint(templates: readonly string[]): Promise<string[]> {
  if (!existsSync(venv)) await install()
  const options = ['--format', 'parseable', '--regions', 'us-east-1', '--ignore-checks', ...leftOut]
  try {
    await run(join(venv, 'bin/python'), [join(venv, 'bin/cfn-lint'), ...options, '--', ...templates], {
      maxBuffer: 1e8,
    })
    return []
  } catch (thrown) {
    const { stdout = '', stderr = '' } = thrown as { stdout?: string; stderr?: string }
    return `${stdout}${stderr}`.trim().split('\n')
  }
}

/** Made aside and moved into place, so that nobody takes half of it for the whole. */
async function install(): Promise<void> {
  const aside = `${venv}-${process.pid}`
  try {
    await run('python3', ['-m', 'venv', aside])
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', `cfn-lint==${version}`]
    await run(join(aside, 'bin/python'), pip)
    await rename(aside, venv)
  } finally {
    await rm(aside, { recursive: true, force: true })
  }
}
