import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { pythonPackage } from '#test/support/python-package.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')
const description = join(root, 'openapi.json')

/**
 * The checks of every response. Checks for accepted requests are excluded: JSON Schema can describe neither authentic
 * cursors nor a caller's tenants, and servers ignore unknown headers. The check of methods is excluded, because
 * HEAD and OPTIONS are served although openapi.json does not list them.
 */
const checks = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  'use_after_free',
  'ignored_auth',
]

/** Sends valid and invalid requests by openapi.json, the same each time, and returns the report. */
export async function schemathesis(
  baseUrl: string,
  token: string,
): Promise<{ passed: boolean; report: string; operations: number }> {
  const { paths } = JSON.parse(await readFile(description, 'utf8'))
  const operations = Object.values(paths as object).flatMap((methods) => Object.keys(methods)).length
  const venv = await pythonPackage('schemathesis')
  const command = join(venv, 'bin/schemathesis')
  const options = [
    ...['--url', baseUrl, '--header', `Authorization: Bearer ${token}`, '--checks', checks.join(',')],
    // A shorter time-out is answered 504 on a busy machine, rightly.
    ...['--header', 'X-Request-Timeout: 28000', '--request-timeout', '60'],
    ...[
      '--seed',
      '1',
      '--max-examples',
      '15',
      '--generation-deterministic',
      '--suppress-health-check',
      'all',
      '--no-color',
    ],
  ]
  try {
    const { stdout } = await run(command, ['run', description, ...options], {
      cwd: venv,
      maxBuffer: 1e8,
    })
    return { passed: true, report: stdout, operations }
  } catch (thrown) {
    const { stdout = '', stderr = '', message } = thrown as Error & { stdout?: string; stderr?: string }
    return { passed: false, report: [message, stdout, stderr].join('\n'), operations }
  }
}
