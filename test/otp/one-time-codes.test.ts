import { describe, expect, test } from '@jest/globals'
import { personOf } from '#shared/identity/person.ts'
import { codeKey } from '#shared/otp/one-time-code.ts'
import { systemClock } from '#shared/platform/base/clock.ts'
import { publishedEvents } from '#shared/platform/events/outbox.ts'
import {
  mailOf,
  newEmail,
  otherThan,
  requestCode,
  requestedCode,
  verifyCode,
} from '#test/support/one-time-codes.ts'
import { outcome } from '#test/support/outcome.ts'
import { type Answer, startService } from '#test/support/service.ts'
import { patientSettings } from '#test/support/settings.ts'

let now = Date.parse('2026-03-01T12:00:00Z')
const service = await startService({
  settings: patientSettings,
  clock: { ...systemClock, now: () => now, sleep: async () => {} },
})

let sources = 0
/** Uses a new source each time, so the throttle does not apply. */
const verify = (email: string, code: string) =>
  verifyCode(service, email, code, { from: `source-${sources++}` })
const request = (email: string) => requestedCode(service, email, { from: `source-${sources++}` })
const person = (email: string) => personOf(email, service.settings, service.runtime.derivedKey)
const codeItem = async (email: string) => service.table.get(codeKey((await person(email)).email_hash))
const invalid = '400 CODE.invalid'

describe('a one-time code', () => {
  test('is requested and verified once, and its events contain no personal data', async () => {
    const email = newEmail()
    const asked = await requestCode(service, ` ${email.toUpperCase()}`)
    expect([asked.status, Object.keys(asked.json)]).toEqual([202, ['message_id']])
    const { user_id, email_hash } = await person(email)
    const { message_id } = asked.json
    const data = { id: message_id, tenant_id: 'public', user_id, email_hash }
    expect(publishedEvents((await codeItem(email)) as never)).toMatchObject([
      { type: 'otp.requested', version: 1, data, correlation_id: asked.headers['X-Correlation-Id'] },
    ])
    const mail = await mailOf(service, message_id)
    expect(mail).toEqual({ email, code: expect.stringMatching(/^\d{6}$/) })
    const answer = await verify(email, ` ${mail.code} `)
    expect([answer.status, Object.keys(answer.json)]).toEqual([200, ['session_id']])
    const [event] = publishedEvents((await codeItem(email)) as never)
    expect(event?.data).toEqual({
      id: answer.json.session_id,
      tenant_id: 'public',
      user_id,
      method: 'email',
      success: true,
    })
    expect(outcome(await verify(email, mail.code))).toBe(invalid)
  })

  test('stays valid after a wrong attempt, which is published', async () => {
    const email = newEmail()
    const code = await request(email)
    expect(outcome(await verify(email, otherThan(code)))).toBe(invalid)
    const [event] = publishedEvents((await codeItem(email)) as never)
    expect(event).toMatchObject({ type: 'otp.verified', data: { success: false } })
    expect(outcome(await verify(email, code))).toBe('200')
  })

  test('is valid for five minutes', async () => {
    const [email, other] = [newEmail(), newEmail()]
    const codes = [await request(email), await request(other)] as const
    now += 300_000
    expect(outcome(await verify(email, codes[0]))).toBe('200')
    now += 1
    expect(outcome(await verify(other, codes[1]))).toBe(invalid)
  })

  test('is superseded by the next', async () => {
    const email = newEmail()
    const first = await request(email)
    const second = await request(email)
    if (first !== second) expect(outcome(await verify(email, first))).toBe(invalid)
    expect(outcome(await verify(email, second))).toBe('200')
  })

  test('is invalid for another address', async () => {
    const [email, other] = [newEmail(), newEmail()]
    const [code, otherCode] = [await request(email), await request(other)]
    if (code !== otherCode) expect(outcome(await verify(other, code))).toBe(invalid)
    expect(outcome(await verify(newEmail(), code))).toBe(invalid)
  })

  test('ends after the fifth wrong attempt', async () => {
    const email = newEmail()
    const code = await request(email)
    for (let n = 0; n < 5; n += 1) expect(outcome(await verify(email, otherThan(code)))).toBe(invalid)
    expect(outcome(await verify(email, code))).toBe(invalid)
  })

  test('that is resent does not reset the attempts for five minutes', async () => {
    const email = newEmail()
    const first = await request(email)
    for (let n = 0; n < 5; n += 1) {
      await verify(email, otherThan(first))
      now += 10_000
    }
    expect(outcome(await verify(email, await request(email)))).toBe(invalid)
    now += 240_000
    const later = await request(email)
    now += 9_999
    expect(outcome(await verify(email, later))).toBe(invalid)
    now += 1
    expect(outcome(await verify(email, later))).toBe('200')
  })

  test('is accepted once for twenty concurrent verifications', async () => {
    const email = newEmail()
    const code = await request(email)
    const answers = await Promise.all(Array.from({ length: 20 }, () => verify(email, code)))
    expect(answers.map(outcome).toSorted()).toEqual(['200', ...Array.from({ length: 19 }, () => invalid)])
    const sessions = await service.items('public', 'session')
    const { user_id } = await person(email)
    expect(sessions.filter((one) => one.user_id === user_id)).toHaveLength(1)
  })

  test('is not found by many concurrent attempts: five of them count, and none after', async () => {
    const email = newEmail()
    const code = await request(email)
    const guesses = Array.from({ length: 30 }, (_, n) =>
      String((Number(code) + n + 1) % 1e6).padStart(6, '0'),
    )
    const answers = await Promise.all(guesses.map((guess) => verify(email, guess)))
    expect(answers.map(outcome)).toEqual(guesses.map(() => invalid))
    for (let n = 0; n < 5; n += 1) await verify(email, otherThan(code))
    expect(outcome(await verify(email, code))).toBe(invalid)
    expect((await codeItem(email))?.tries).toHaveLength(5)
  })

  test('requested twenty times concurrently is valid once', async () => {
    const email = newEmail()
    const asked = await Promise.all(
      Array.from({ length: 20 }, () => requestCode(service, email, { from: `source-${sources++}` })),
    )
    const done = asked.filter(({ status }) => status === 202)
    expect(done.length).toBeGreaterThan(0)
    // A request with repeated conflicts fails as retryable.
    expect(
      asked.filter(({ status }) => status !== 202).every((one) => outcome(one) === '500 TRANSIENT.error'),
    ).toBe(true)
    const latest = (await codeItem(email))?.message_id
    expect(done.map(({ json }) => json.message_id)).toContain(latest)
    expect(outcome(await verify(email, (await mailOf(service, String(latest))).code))).toBe('200')
  })
})

test('the sixth request and the sixth verification of a minute are rejected, and no mail is sent', async () => {
  const email = newEmail()
  const from = 'one-place'
  const asked: Answer[] = []
  for (let n = 0; n < 6; n += 1) asked.push(await requestCode(service, email, { from }))
  expect(asked.map(outcome)).toEqual([...Array.from({ length: 5 }, () => '202'), '429 RATE_LIMIT.exceeded'])
  expect(asked[5]?.headers['Retry-After']).toBe('60')
  expect((await codeItem(email))?.message_id).toBe(asked[4]?.json.message_id)
  const tried: Answer[] = []
  for (let n = 0; n < 6; n += 1) tried.push(await verifyCode(service, email, 'wrong', { from }))
  expect(tried.map(outcome)).toEqual([...Array.from({ length: 5 }, () => invalid), '429 RATE_LIMIT.exceeded'])
  now += 60_000
  expect(outcome(await requestCode(service, email, { from }))).toBe('202')
})

test.each(['not an address', '', 7, null, undefined])('%j is rejected as an address', async (email) => {
  const answer = await service.call({ method: 'POST', path: '/otp/request', body: { email } })
  expect(answer.status).toBe(400)
  if (typeof email === 'string') expect(answer.json.error.code).toBe('VALIDATION.email')
})

test('generated codes have uniformly distributed digits', async () => {
  const counts = Array.from({ length: 6 }, () => new Map<string, number>())
  const { newDigits } = await import('#shared/otp/one-time-code.ts')
  for (let n = 0; n < 20_000; n += 1) {
    const code = newDigits(6, systemClock.randomBytes)
    for (const [place, digit] of [...code].entries())
      counts[place]?.set(digit, (counts[place]?.get(digit) ?? 0) + 1)
  }
  for (const count of counts) {
    expect(count.size).toBe(10)
    for (const often of count.values()) expect(Math.abs(often - 2000)).toBeLessThan(300)
  }
})
