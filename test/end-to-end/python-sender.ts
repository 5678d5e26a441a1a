import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { pythonPackage } from '#test/support/python-package.ts'

const script = join(import.meta.dirname, 'standard-webhooks.py')

/**
 * Sends an event signed by the official Python library of Standard Webhooks.
 * @param secret as the sender stores it
 * @returns the status of the response
 */
export async function sendFromPython(
  url: string,
  secret: string,
  event: { event_id: string },
): Promise<number> {
  const venv = await pythonPackage('standardwebhooks')
  const input = { url, secret, id: event.event_id, body: JSON.stringify(event) }
  const output = await new Promise<string>((resolve, reject) => {
    const child = execFile(join(venv, 'bin/python'), [script], (error, stdout) =>
      error ? reject(error) : resolve(stdout),
    )
    child.stdin?.end(JSON.stringify(input))
  })
  return Number(output)
}
