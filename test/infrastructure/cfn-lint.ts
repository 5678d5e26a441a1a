import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { pythonPackage } from '#test/support/python-package.ts'

const run = promisify(execFile)

/** CDK adds a redundant dependency of a function on its role, which is harmless. */
const leftOut = ['W3005']

/**
 * Validates templates against the schemas of CloudFormation.
 * @returns one line for each finding: file, location, rule and text
 */
export async function cfnLint(templates: readonly string[]): Promise<string[]> {
  const venv = await pythonPackage('cfn-lint')
  const options = ['--format', 'parseable', '--regions', 'us-east-1', '--ignore-checks', ...leftOut]
  try {
    await run(join(venv, 'bin/cfn-lint'), [...options, '--', ...templates], { maxBuffer: 1e8 })
    return []
  } catch (thrown) {
    const { stdout = '', stderr = '' } = thrown as { stdout?: string; stderr?: string }
    return `${stdout}${stderr}`.trim().split('\n')
  }
}
