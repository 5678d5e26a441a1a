import { describe, expect, test } from '@jest/globals'
import { systemClock } from '#shared/platform/base/clock.ts'
import {
  mailOf,
  newEmail,
  otherThan,
  requestCode,
  requestedCode,
  verifyCode,
} from '#test/support/one-time-codes.ts'
import { outcome } from '#test/support/outcome.ts'
import { startService } from '#test/support/service.ts'
import { localSettings } from '#test/support/settings.ts'

/** Calls of strangers while the owner of an address logs in, with the settings of the local profile. */

const minute = 60_000
let now = Date.parse('2026-03-01T12:00:00Z')
const service = await startService({
  settings: localSettings,
  clock: { ...systemClock, now: () => now, sleep: async () => {} },
})

let sources = 0
const newSource = () => `source-${sources++}`
const request = (email: string, from: string) => requestedCode(service, email, { from })
const verify = async (email: string, code: string, from: string) =>
  outcome(await verifyCode(service, email, code, { from }))
const guess = async (email: string, code: string, times: number) => {
  for (let n = 0; n < times; n += 1) await verify(email, otherThan(code), newSource())
}
const invalid = '400 CODE.invalid'

/** Returns an address whose owner uses a source that has succeeded for it. */
async function knownOwner(): Promise<{ email: string; owner: string }> {
  const [email, owner] = [newEmail(), newSource()]
  expect(await verify(email, await request(email, owner), owner)).toBe('200')
  now += minute
  return { email, owner }
}

describe('the code of an owner stays valid', () => {
  test('when a stranger requests codes', async () => {
    const [email, owner, stranger] = [newEmail(), newSource(), newSource()]
    const code = await request(email, owner)
    for (let n = 0; n < 5; n += 1) expect(await request(email, stranger)).toBe(code)
    expect(await verify(email, code, owner)).toBe('200')
  })

  test('when a stranger had requested it first and requests it again', async () => {
    const [email, owner, stranger] = [newEmail(), newSource(), newSource()]
    const first = await request(email, stranger)
    const code = await request(email, owner)
    expect(code).toBe(first)
    expect(await request(email, stranger)).toBe(code)
    expect(await verify(email, code, owner)).toBe('200')
  })

  test('when a stranger submits wrong codes', async () => {
    const [email, owner, stranger] = [newEmail(), newSource(), newSource()]
    const code = await request(email, owner)
    const tried = []
    for (let n = 0; n < 5; n += 1) tried.push(await verify(email, otherThan(code), stranger))
    expect(tried).toEqual(Array(5).fill(invalid))
    now += minute
    expect(await verify(email, code, stranger)).toBe(invalid)
    expect(await verify(email, code, owner)).toBe('200')
  })

  test('when the owner enters it on another device', async () => {
    const [email, owner] = [newEmail(), newSource()]
    expect(await verify(email, await request(email, owner), newSource())).toBe('200')
  })

  test('when strangers use up all of their attempts, if the owner is known', async () => {
    const { email, owner } = await knownOwner()
    const code = await request(email, owner)
    await guess(email, code, 60)
    expect(await verify(email, code, newSource())).toBe(invalid)
    expect(await verify(email, code, owner)).toBe('200')
  })

  test('for five minutes, when a code of strangers has lasted for nearly fifteen', async () => {
    const [email, owner] = [newEmail(), newSource()]
    const strangers = [newSource(), newSource()] as const
    const first = await request(email, strangers[0])
    for (const stranger of [strangers[1], strangers[0], strangers[1]]) {
      now += 3 * minute
      expect(await request(email, stranger)).toBe(first)
    }
    now += 2 * minute
    const code = await request(email, owner)
    expect(code).not.toBe(first)
    expect(await request(email, strangers[0])).toBe(code)
    now += 5 * minute
    expect(await verify(email, code, owner)).toBe('200')
  })
})

describe('a code', () => {
  test('that strangers have spent is not mailed again', async () => {
    const [email, owner] = [newEmail(), newSource()]
    const spent = await request(email, newSource())
    await guess(email, spent, 49)
    const code = await request(email, owner)
    expect(await verify(email, spent, owner)).toBe(spent === code ? '200' : invalid)
    expect(await verify(email, code, owner)).toBe('200')
  })

  test.each([
    [0, '200'],
    [1, invalid],
  ])(
    'of several sources, submitted fifteen minutes and %i ms after its first mail, gets %s',
    async (more, expected) => {
      const [email, one, other, third] = [newEmail(), newSource(), newSource(), newSource()]
      const code = await request(email, one)
      for (const from of [other, one, third]) {
        now += (from === third ? 2 : 4) * minute
        expect(await request(email, from)).toBe(code)
      }
      now += 5 * minute + more
      expect(await verify(email, code, third)).toBe(expected)
    },
  )

  test('that was mailed twice works once', async () => {
    const [email, ...both] = [newEmail(), newSource(), newSource()] as const
    const codes = [await request(email, both[0]), await request(email, both[1])] as const
    const outcomes = [await verify(email, codes[0], both[0]), await verify(email, codes[1], both[1])]
    expect(outcomes).toEqual(['200', invalid])
  })

  test.each([
    [48, '200'],
    [49, invalid],
  ])('after %i wrong attempts of unknown sources gets %s from another one', async (attempts, expected) => {
    const email = newEmail()
    const code = await request(email, newSource())
    await guess(email, code, attempts)
    expect(await verify(email, code, newSource())).toBe(expected)
  })
})

test('of thirty requests from six sources in a minute, 25 send a mail with the same code', async () => {
  const email = newEmail()
  const answers = []
  for (const from of Array.from({ length: 6 }, newSource))
    for (let n = 0; n < 5; n += 1) answers.push(await requestCode(service, email, { from }))
  expect(answers.map(outcome)).toEqual([
    ...Array(25).fill('202'),
    ...Array(5).fill('429 RATE_LIMIT.exceeded'),
  ])
  // While the first source is alone, each of its requests sends a new code.
  const codes = await Promise.all(answers.slice(4, 25).map(({ json }) => mailOf(service, json.message_id)))
  expect(new Set(codes.map(({ code }) => code)).size).toBe(1)
})

describe('mails to the tags of one mailbox', () => {
  const { limit, windowSeconds } = localSettings['otp.mailsPerAddress']
  const tagged = (email: string, tag: number) => email.replace('@', `+${tag}@`)
  const requests = async (emails: string[], from: string) => {
    const outcomes = []
    for (const email of emails) outcomes.push(outcome(await requestCode(service, email, { from })))
    return outcomes
  }
  const tags = (email: string) => Array.from({ length: limit }, (_, tag) => tagged(email, tag))

  test('are limited together, until the window has passed', async () => {
    const [email, stranger] = [newEmail(), newSource()]
    expect(await requests(tags(email), stranger)).toEqual(Array(limit).fill('202'))
    expect(await requests([tagged(email, limit)], newSource())).toEqual(['429 RATE_LIMIT.exceeded'])
    expect(await requests([tagged(newEmail(), limit)], newSource())).toEqual(['202'])
    now += windowSeconds * 1000
    expect(await requests([tagged(email, limit)], newSource())).toEqual(['202'])
  })

  test('are still sent to a source that has succeeded for its tag', async () => {
    const [email, owner] = [newEmail(), newSource()]
    const own = tagged(email, limit)
    expect(await verify(own, await request(own, owner), owner)).toBe('200')
    await requests(tags(email), newSource())
    expect(await requests([own], newSource())).toEqual(['429 RATE_LIMIT.exceeded'])
    expect(await requests([own], owner)).toEqual(['202'])
  })
})
