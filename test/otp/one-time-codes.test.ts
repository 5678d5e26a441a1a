import { describe, expect, test } from '@jest/globals'
import { personOf } from '#shared/identity/person.ts'
import { digitsOf } from '#shared/otp/code-digits.ts'
import { asCodeItem, codeKey } from '#shared/otp/code-item.ts'
import { mailKey } from '#shared/otp/code-mail.ts'
import { sendCode } from '#shared/otp/send-code.ts'
import { systemClock } from '#shared/platform/base/clock.ts'
import { eventsOf } from '#test/support/item-events.ts'
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
import { longTimeoutSettings } from '#test/support/settings.ts'

let now = Date.parse('2026-03-01T12:00:00Z')
const service = await startService({
  settings: longTimeoutSettings,
  clock: { ...systemClock, now: () => now, sleep: async () => {} },
})

let sources = 0
const newSource = () => `source-${sources++}`
/** Uses a new source by default, so the throttle does not apply. */
const verify = (email: string, code: string, from = newSource()) => verifyCode(service, email, code, { from })
const request = (email: string, from = newSource()) => requestedCode(service, email, { from })
const person = (email: string) => personOf(email, service.settings, service.runtime.derivedKey)
const codeItem = async (email: string) => service.table.get(codeKey((await person(email)).email_hash))
const openCodesOf = async (email: string) => asCodeItem(await codeItem(email))?.codes ?? []
const invalid = '400 CODE.invalid'

describe('a one-time code', () => {
  test('is requested and verified once, and its events contain no personal data', async () => {
    const email = newEmail()
    const asked = await requestCode(service, ` ${email.toUpperCase()}`)
    expect([asked.status, Object.keys(asked.json)]).toEqual([202, ['message_id']])
    const { user_id, email_hash } = await person(email)
    const { message_id } = asked.json
    const data = { id: message_id, tenant_id: 'public', user_id, email_hash }
    expect(eventsOf((await service.table.get(mailKey(message_id))) as never)).toMatchObject([
      { type: 'otp.requested', version: 1, data, correlation_id: asked.headers['X-Correlation-Id'] },
    ])
    const mail = await mailOf(service, message_id)
    expect(mail).toEqual({ email, code: expect.stringMatching(/^\d{6}$/) })
    const answer = await verify(email, ` ${mail.code} `)
    expect([answer.status, Object.keys(answer.json)]).toEqual([200, ['session_id']])
    const [event] = eventsOf((await codeItem(email)) as never)
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
    const [event] = eventsOf((await codeItem(email)) as never)
    expect(event).toMatchObject({ type: 'otp.verified', data: { success: false } })
    expect(outcome(await verify(email, code))).toBe('200')
  })

  test.each<[string, (code: string) => string]>([
    ['blanks', (code) => ` ${code.slice(0, 3)}\u00a0${code.slice(3)} `],
    ['hyphens', (code) => `${code.slice(0, 2)}-${code.slice(2, 4)}–${code.slice(4)}`],
    [
      'full-width digits',
      (code) => code.replace(/\d/g, (digit) => String.fromCharCode(0xff10 + Number(digit))),
    ],
  ])('is read with %s', async (_, typed) => {
    const email = newEmail()
    const code = await request(email)
    expect(outcome(await verify(email, typed(code)))).toBe('200')
  })

  test('is valid for five minutes', async () => {
    const [email, other] = [newEmail(), newEmail()]
    const codes = [await request(email), await request(other)] as const
    now += 300_000
    expect(outcome(await verify(email, codes[0]))).toBe('200')
    now += 1
    expect(outcome(await verify(other, codes[1]))).toBe(invalid)
  })

  test('keeps its number of digits when the setting changes', async () => {
    const email = newEmail()
    const { json } = await requestCode(service, email)
    const { code } = await mailOf(service, json.message_id)
    const settings = { ...service.settings, 'otp.code': { ...service.settings['otp.code'], digits: 8 } }
    const { clock } = service.runtime
    const changed = await startService({ settings, clock, tableName: service.tableName })
    const texts: string[] = []
    const context = { ...changed.runtime, table: changed.table }
    await sendCode(json.message_id, context, async (_, { text }) => {
      texts.push(text)
    })
    expect(texts).toEqual([`Your code is ${code}. It is valid for 5 minutes.`])
    expect(outcome(await verifyCode(changed, email, code))).toBe('200')
    expect(await requestedCode(changed, email)).toHaveLength(8)
  })

  test('is rejected from a source that was mailed a later one, and accepted from any other', async () => {
    const [email, source] = [newEmail(), newSource()]
    await request(email)
    now += 290_000
    const earlier = await request(email, source)
    now += 290_000
    expect(await request(email)).toBe(earlier)
    now += 60_000
    expect(await request(email, source)).not.toBe(earlier)
    expect(outcome(await verify(email, earlier, source))).toBe(invalid)
    expect(outcome(await verify(email, earlier))).toBe('200')
  })

  test.each([
    ['a new', false],
    ['a known', true],
  ])('that is resent does not reset the five attempts of %s source for five minutes', async (_, isKnown) => {
    const [email, source] = [newEmail(), newSource()]
    if (isKnown) {
      await verify(email, await request(email, source), source)
      // Its success counts in the throttle of a minute.
      now += 60_000
    }
    const first = await request(email, source)
    for (let n = 0; n < 5; n += 1) {
      await verify(email, otherThan(first), source)
      now += 12_000
    }
    expect(outcome(await verify(email, await request(email, source), source))).toBe(invalid)
    now += 239_999
    const later = await request(email, source)
    expect(outcome(await verify(email, later, source))).toBe(invalid)
    now += 1
    expect(outcome(await verify(email, later, source))).toBe('200')
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

  test('is not found by many concurrent attempts of a source: five of them count, and none after', async () => {
    const [email, source] = [newEmail(), newSource()]
    const code = await request(email)
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => verify(email, otherThan(code), source)),
    )
    expect(new Set(answers.map(outcome))).toEqual(new Set([invalid, '429 RATE_LIMIT.exceeded']))
    now += 60_000
    for (let n = 0; n < 5; n += 1) await verify(email, otherThan(code), source)
    now += 60_000
    expect(outcome(await verify(email, code, source))).toBe(invalid)
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
    const mails = await Promise.all(done.map(({ json }) => mailOf(service, json.message_id)))
    expect(new Set(mails.map(({ code }) => code)).size).toBe(1)
    const verified = await Promise.all(mails.map(({ code }) => verify(email, code)))
    expect(verified.filter(({ status }) => status === 200)).toHaveLength(1)
  })
})

test('what another release has added to the codes of an address stays', async () => {
  const email = newEmail()
  const code = await request(email)
  const key = codeKey((await person(email)).email_hash)
  await service.table.update({ update: key, set: { later: 1 }, condition: 'none' })
  await request(email)
  await verify(email, otherThan(code))
  expect(await codeItem(email)).toMatchObject({ later: 1, version: 3 })
})

test('the sixth request and the sixth verification of a minute are rejected, and no mail is sent', async () => {
  const email = newEmail()
  const from = 'one-place'
  const asked: Answer[] = []
  for (let n = 0; n < 6; n += 1) asked.push(await requestCode(service, email, { from }))
  expect(asked.map(outcome)).toEqual([...Array.from({ length: 5 }, () => '202'), '429 RATE_LIMIT.exceeded'])
  expect(asked[5]?.headers['Retry-After']).toBe('60')
  expect((await openCodesOf(email)).map(({ id }) => id)).toEqual([asked[4]?.json.message_id])
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

test('derived codes have uniformly distributed digits', async () => {
  const key = await service.runtime.derivedKey('one_time_codes')
  const counts = Array.from({ length: 6 }, () => Array<number>(10).fill(0))
  for (let n = 0; n < 20_000; n += 1) {
    for (const [place, digit] of [...digitsOf(key, { email: 'e', salt: String(n) }, 6)].entries())
      counts[place]?.splice(Number(digit), 1, (counts[place]?.[Number(digit)] ?? 0) + 1)
  }
  const squares = (observed: readonly number[], expected: number) =>
    observed.reduce((sum, often) => sum + (often - expected) ** 2 / expected, 0)
  // The 99.9th percentile of chi-squared with nine degrees of freedom; the key is fixed, so the figures are too.
  for (const count of counts) expect(squares(count, 2000)).toBeLessThan(27.9)
  const all = Array.from({ length: 10 }, (_, digit) =>
    counts.reduce((sum, one) => sum + (one[digit] ?? 0), 0),
  )
  expect(squares(all, 12_000)).toBeLessThan(27.9)
})

test('codes of other salts, addresses and keys are unrelated', async () => {
  const key = await service.runtime.derivedKey('one_time_codes')
  const other = await service.runtime.derivedKey('cursors')
  const codes = [
    digitsOf(key, { email: 'jane', salt: 'a' }, 10),
    digitsOf(key, { email: 'jane', salt: 'b' }, 10),
    digitsOf(key, { email: 'john', salt: 'a' }, 10),
    digitsOf(other, { email: 'jane', salt: 'a' }, 10),
  ]
  expect(new Set(codes).size).toBe(4)
  expect(digitsOf(key, { email: 'jane', salt: 'a' }, 10)).toBe(codes[0])
})
