import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { pythonPackage } from '#test/support/python-package.ts'

const run = promisify(execFile)
const version = '1.58.0'

/** CDK makes a function wait for its role by name, where the reference to it would do: harmless, and not ours. */
const leftOut = ['W3005']

/**
 * Holds templates against the schemas of CloudFormation.
 * @returns one line for each finding: file, place, rule and text
 */
export async function cfnLint(templates: readonly string[]): Promise<string[]> {
  const venv = await pythonPackage('cfn-lint', version)
  const options = ['--format', 'parseable', '--regions', 'us-east-1', '--ignore-checks', ...leftOut]
  try {
    await run(join(venv, 'bin/cfn-lint'), [...options, '--', ...templates], { maxBuffer: 1e8 })
    return []
  } catch (thrown) {
    const { stdout = '', stderr = '' } = thrown as { stdout?: string; stderr?: string }
    return `${stdout}${stderr}`.trim().split('\n')
  }
}
