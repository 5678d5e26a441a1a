import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { pythonPackage } from '#test/support/python-package.ts'

const run = promisify(execFile)

/** A check that a resource fails. */
export interface Finding {
  /** `CKV_AWS_18` */
  check: string
  name: string
  /** The template's file name without its ending. */
  template: string
  /** `AWS::S3::Bucket.Files8E6940B8` */
  resource: string
}

interface Report {
  summary?: { parsing_errors: number }
  results?: {
    failed_checks: { check_id: string; check_name: string; file_path: string; resource: string }[]
  }
}

/**
 * Runs the CloudFormation checks of checkov on the templates of a folder, in one process and without the network.
 * @throws Error if it cannot read a template
 */
export async function checkov(folder: string): Promise<Finding[]> {
  const venv = await pythonPackage('checkov')
  const options = [
    ...['--framework', 'cloudformation', '--skip-download', '--soft-fail'],
    ...['--quiet', '--compact', '--output', 'json'],
  ]
  const { stdout } = await run(join(venv, 'bin/checkov'), ['--directory', folder, ...options], {
    maxBuffer: 1e8,
    env: { ...process.env, SKIP_PACKAGE_UPDATE_CHECK: 'true' },
  })
  const { summary, results }: Report = JSON.parse(stdout)
  if (!results || summary?.parsing_errors !== 0) throw new Error(`checkov cannot read it: ${stdout}`)
  return results.failed_checks.map(({ check_id, check_name, file_path, resource }) => ({
    check: check_id,
    name: check_name,
    template: file_path.replace(/^\/|\.json$/g, ''),
    resource,
  }))
}
