import { readFile } from 'node:fs/promises'
import { expect, test } from '@jest/globals'
import { signedHeaders } from '#test/support/signed-request.ts'
import type { Deployment } from './deployment.ts'

/** Values that must not leak. The other tests of the run sent some of each. */
const secrets: Record<string, RegExp> = {
  'an e-mail address': /[\w.+-]+@[\w-]+\.\w/,
  'a token': /eyJ[\w-]{10,}\.[\w-]{10,}/,
  'an API key': /\bck_[\w-]+\.[\w-]+\./,
  'a password': /horse/i,
  'a key of webhooks or payments': /whsec_|sk_test/,
  'the cookie of a session': /__Host-session=|csrf_token=/,
  'the name of a customer': /"Name \d+, /,
}

/**
 * Searches the logs of the run. Call it after all other tests. `test/login`, `test/otp` and the simulation search items,
 * audit records and events.
 */
export function nothingLeaked(deployment: () => Deployment): void {
  const ask = async (operation: string, input: object) => {
    const { aws } = deployment()
    const headers = {
      'Content-Type': 'application/x-amz-json-1.1',
      'X-Amz-Target': `Logs_20140328.${operation}`,
    }
    const request = { method: 'POST', body: JSON.stringify(input) }
    const answer = await fetch(aws.endpoint, {
      ...request,
      headers: await signedHeaders(aws, { service: 'logs', headers, ...request }),
    })
    if (!answer.ok) throw new Error(`${operation}: ${await answer.text()}`)
    // biome-ignore lint/suspicious/noExplicitAny: responses have any shape
    return answer.json() as Promise<any>
  }

  async function allLogs(): Promise<string[]> {
    const { logGroups } = await ask('DescribeLogGroups', {})
    const lines: string[] = []
    for (const { logGroupName } of logGroups) {
      for (let nextToken: string | undefined; ; ) {
        const page = await ask('FilterLogEvents', { logGroupName, ...(nextToken && { nextToken }) })
        lines.push(...page.events.map(({ message }: { message: string }) => message))
        if (!page.nextToken || page.nextToken === nextToken) break
        nextToken = page.nextToken
      }
    }
    return lines
  }

  const expectNothingIn = (lines: readonly string[], patterns = secrets) => {
    for (const [what, pattern] of Object.entries(patterns)) {
      expect([what, lines.filter((line) => pattern.test(line)).slice(0, 3)]).toEqual([what, []])
    }
  }

  test('no log line of the entire run contains personal data or a secret', async () => {
    const lines = await allLogs()
    expect(lines.filter((line) => line.includes('REQUEST_')).length).toBeGreaterThan(100)
    expectNothingIn(lines)
  })

  test('no request that the console shows contains a secret', async () => {
    const lines = (await readFile(deployment().activityFile, 'utf8')).split('\n')
    expect(lines.filter((line) => line.includes('"kind": "request"')).length).toBeGreaterThan(100)
    // It shows the bodies that callers sent, with what they say of customers.
    const { 'an e-mail address': _, 'the name of a customer': __, ...others } = secrets
    expectNothingIn(lines, others)
  })
}
