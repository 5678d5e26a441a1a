import { describe, expect, test } from '@jest/globals'
import { endSession, listSessions, type SessionLine } from '#bin/commands/tenants/sessions.ts'
import { systemClock } from '#shared/platform/base/clock.ts'
import {
  cookiesOf,
  newEmail,
  newSession,
  requestedCode,
  sessionHeaders,
  verifyCode,
} from '#test/support/one-time-codes.ts'
import { outcome } from '#test/support/outcome.ts'
import { startService } from '#test/support/service.ts'

let now = Date.parse('2026-03-01T12:00:00Z')
const clock = { ...systemClock, now: () => now }
const service = await startService({ clock })
const operator = { table: service.table, clock, name: 'jane' }

let keys = 0
const verifyDiscount = (headers: Record<string, string>) =>
  service.call({
    method: 'POST',
    path: '/discount/verify',
    body: { code: 'UNKNOWN' },
    headers: { 'Idempotency-Key': `k${keys++}`, ...headers },
  })
const unknown = '401 AUTH.invalid_credentials'

describe('a session', () => {
  test('can verify discounts and nothing else', async () => {
    const { headers } = await newSession(service)
    const verified = await verifyDiscount(headers)
    expect([verified.status, verified.json]).toEqual([200, { applied: false, amount: 0 }])
    for (const path of ['/v1/orders', '/codes'])
      expect(outcome(await service.call({ path, headers }))).toBe(unknown)
  })

  test('can be revoked by an operator, which is audited', async () => {
    const { headers, answer } = await newSession(service)
    const { session_id } = answer.json
    const lines: SessionLine[] = []
    for await (const line of listSessions(service.table, 'public', clock)) lines.push(line)
    expect(lines.find((line) => line.session_id === session_id)).toMatchObject({ state: 'active' })
    expect(lines.find((line) => line.session_id === session_id)?.valid_until).toBe(
      new Date(now + 3_600_000).toISOString(),
    )
    expect(JSON.stringify(lines)).not.toContain('hash"')
    await endSession(operator, 'public', session_id)
    expect(outcome(await verifyDiscount(headers))).toBe(unknown)
    await expect(endSession(operator, 'public', session_id)).rejects.toThrow('not active')
    await expect(endSession(operator, 'public', crypto.randomUUID())).rejects.toThrow('no such')
    expect(await service.items('public', 'audit')).toContainEqual(
      expect.objectContaining({
        actor_id: 'jane',
        action: 'session.revoke',
        target: `session/${session_id}`,
        result: 'allow',
      }),
    )
  })
})

test('a verification whose response was lost is replayed with its cookies, while its code is valid', async () => {
  const email = newEmail()
  const code = await requestedCode(service, email)
  const headers = { 'Idempotency-Key': 'lost' }
  const first = await verifyCode(service, email, code, { headers })
  const again = await verifyCode(service, email, code, { headers })
  expect([again.body, again.cookies, again.headers['Idempotency-Status']]).toEqual([
    first.body,
    first.cookies,
    'replayed',
  ])
  expect(outcome(await verifyDiscount(sessionHeaders(service, again)))).toBe('200')
  now += 300_001
  const later = await verifyCode(service, email, code, { headers })
  expect([later.status, later.body, later.cookies]).toEqual([200, first.body, []])
  const wrong = await verifyCode(service, email, code)
  expect([wrong.status, cookiesOf(wrong)]).toEqual([400, {}])
})
