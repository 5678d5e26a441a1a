import { beforeEach, describe, expect, test } from '@jest/globals'
import { systemClock } from '#shared/platform/base/clock.ts'
import { newEmail, otherThan, requestCode, requestedCode, verifyCode } from '#test/support/one-time-codes.ts'
import { outcome } from '#test/support/outcome.ts'
import { type Service, startService } from '#test/support/service.ts'
import { localSettings } from '#test/support/settings.ts'

const minute = 60_000
const settings = {
  ...localSettings,
  'otp.code': { digits: 6, maxAttempts: 5 },
  'otp.sourceThrottle': { requests: 12, wrongAttempts: 3, windowSeconds: 300 },
  'otp.dailyWrongAttempts': { limit: 7, knownSourceDays: 90 },
  'otp.mailsPerAddress': { limit: 10, windowSeconds: 600 },
}

let now = Date.parse('2026-03-01T12:00:00Z')
let service: Service
let source: string
beforeEach(async () => {
  service ??= await startService({ settings, clock: { ...systemClock, now: () => now } })
  source = `source-${crypto.randomUUID()}`
})

const newSource = () => `source-${crypto.randomUUID()}`
const invalid = '400 CODE.invalid'
const limited = '429 RATE_LIMIT.exceeded'
const codeFor = (email: string, from = newSource()) => requestedCode(service, email, { from })
const verify = async (email: string, code: string, from: string) =>
  outcome(await verifyCode(service, email, code, { from }))

/** Tries wrong codes from new sources. @returns the right code */
async function attack(email: string, attempts: number): Promise<string> {
  const code = await codeFor(email)
  for (let n = 0; n < attempts; n += 1) await verify(email, otherThan(code), newSource())
  return code
}

describe('one source with many addresses', () => {
  test('is rejected after its limit of requests', async () => {
    for (let n = 0; n < 12; n += 1) await requestCode(service, newEmail(), { from: source })
    const refused = await requestCode(service, newEmail(), { from: source })
    expect([outcome(refused), refused.headers['Retry-After']]).toEqual([limited, '300'])
  })

  test('shares its limit between requests and verifications', async () => {
    for (let n = 0; n < 12; n += 1) await requestCode(service, newEmail(), { from: source })
    expect(await verify(newEmail(), '123456', source)).toBe(limited)
  })

  test('is rejected with the right code after its limit of wrong codes', async () => {
    for (let n = 0; n < 3; n += 1) expect(await verify(newEmail(), '123456', source)).toBe(invalid)
    const email = newEmail()
    expect(await verify(email, await codeFor(email), source)).toBe(limited)
  })

  test('may verify any number of right codes within its limit of requests', async () => {
    const outcomes = []
    for (let n = 0; n < 6; n += 1) {
      const email = newEmail()
      outcomes.push(await verify(email, await codeFor(email), source))
    }
    expect(outcomes).toEqual(Array(6).fill('200'))
  })
})

describe('many sources with one address', () => {
  test('are rejected after the daily limit of wrong codes, with the right code too, and get no mail', async () => {
    const email = newEmail()
    const code = await attack(email, 7)
    expect(await verify(email, code, newSource())).toBe(limited)
    expect(outcome(await requestCode(service, email, { from: newSource() }))).toBe(limited)
  })

  test('are admitted again after 24 hours', async () => {
    const email = newEmail()
    await attack(email, 7)
    now += 24 * 60 * minute
    expect(outcome(await requestCode(service, email, { from: newSource() }))).toBe('202')
  })

  test('do not lock out a source that has succeeded for it', async () => {
    const email = newEmail()
    await verify(email, await codeFor(email, source), source)
    now += minute
    await attack(email, 7)
    now += minute
    expect(await verify(email, await codeFor(email, source), source)).toBe('200')
  })

  test('do not benefit from a source that has succeeded for another address', async () => {
    const [email, other] = [newEmail(), newEmail()]
    await verify(other, await codeFor(other, source), source)
    const code = await attack(email, 7)
    expect(await verify(email, code, source)).toBe(limited)
  })

  test('are no longer known after the configured number of days', async () => {
    const email = newEmail()
    await verify(email, await codeFor(email, source), source)
    now += 90 * 24 * 60 * minute
    const code = await attack(email, 7)
    expect(await verify(email, code, source)).toBe(limited)
  })
})

describe('mails to one address', () => {
  const request = (email: string, from = newSource()) => requestCode(service, email, { from })

  test('are limited for all unknown sources together', async () => {
    const email = newEmail()
    const outcomes = []
    for (let n = 0; n < 12; n += 1) {
      outcomes.push(outcome(await request(email)))
      now += 10_000
    }
    expect(outcomes).toEqual([...Array(10).fill('202'), limited, limited])
    const refused = await request(email)
    expect(refused.headers['Retry-After']).toBe('480')
  })

  test('are limited exactly for concurrent requests', async () => {
    const email = newEmail()
    const answers = await Promise.all(Array.from({ length: 15 }, () => request(email)))
    for (let n = 0; n < 11; n += 1) answers.push(await request(email))
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(10)
  })
})

describe('mails to the tags of one mailbox', () => {
  const { limit, windowSeconds } = settings['otp.mailsPerAddress']
  const tagged = (email: string, tag: number) => email.replace('@', `+${tag}@`)
  const requests = async (emails: string[], from: string) => {
    const outcomes = []
    for (const email of emails) outcomes.push(outcome(await requestCode(service, email, { from })))
    return outcomes
  }
  const tags = (email: string) => Array.from({ length: limit }, (_, tag) => tagged(email, tag))

  test('are limited together, until the window has passed', async () => {
    const email = newEmail()
    expect(await requests(tags(email), source)).toEqual(Array(limit).fill('202'))
    expect(await requests([tagged(email, limit)], newSource())).toEqual([limited])
    expect(await requests([tagged(newEmail(), limit)], newSource())).toEqual(['202'])
    now += windowSeconds * 1000
    expect(await requests([tagged(email, limit)], newSource())).toEqual(['202'])
  })

  test('are still sent to a source that has succeeded for its tag', async () => {
    const email = newEmail()
    const own = tagged(email, limit)
    expect(await verify(own, await codeFor(own, source), source)).toBe('200')
    await requests(tags(email), newSource())
    expect(await requests([own], newSource())).toEqual([limited])
    expect(await requests([own], source)).toEqual(['202'])
  })
})

test('a known source has its own daily limit of wrong codes', async () => {
  const email = newEmail()
  await verify(email, await codeFor(email, source), source)
  for (let n = 0; n < 7; n += 1) {
    now += 6 * minute
    await verify(email, otherThan(await codeFor(email)), source)
  }
  now += 6 * minute
  expect(await verify(email, await codeFor(email), source)).toBe(limited)
})
