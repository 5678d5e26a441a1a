import { beforeEach, describe, expect, jest, test } from '@jest/globals'
import { startBudget, systemClock } from '#shared/platform/base/clock.ts'
import { Failure } from '#shared/platform/base/failure.ts'
import { type TokenVerifier, tokenVerifier } from '#shared/platform/identity/token.ts'
import { issuerKey, tokenBy, useKeySetHost } from '#test/support/key-set-host.ts'
import { localSettings, tokenFor } from '#test/support/settings.ts'

const [first, second] = await Promise.all([issuerKey('first'), issuerKey('second')])
const hostOf = useKeySetHost(first, second)

const seconds = 1000
const minutes = 60 * seconds
const day = 24 * 60 * minutes
const tolerance = 30 * seconds
const settings = { 'auth.clockToleranceSeconds': 30 }
const refused = 'AUTH.invalid_credentials'

let now: number
let host: ReturnType<typeof hostOf>
let verifier: TokenVerifier
const verifications = jest.spyOn(crypto.subtle, 'verify')
beforeEach(() => {
  now = 1_800_000_000_000
  verifications.mockClear()
  host = hostOf()
  verifier = tokenVerifier({ ...host.settings, ...settings }, [], { now: () => now })
})

/** The code of the answer to a token, or the subject of its caller. */
async function outcome(token: string, { nonce, by = verifier }: { nonce?: string; by?: TokenVerifier } = {}) {
  try {
    return (await by.verify(`Bearer ${token}`, nonce, now, startBudget(systemClock, 10_000))).sub
  } catch (thrown) {
    if (!(thrown instanceof Failure)) throw thrown
    return thrown.code
  }
}

describe('a token that was verified', () => {
  test('is refused from its expiry on', async () => {
    const token = await tokenBy(first, now)
    await outcome(token)
    now += day + tolerance
    expect(await outcome(token)).toBe(localSettings['errors.expiredToken'])
  })

  test('is refused once the token of a new key has loaded a set without its key', async () => {
    const token = await tokenBy(first, now)
    await outcome(token)
    const third = await issuerKey('third')
    host.keys = [third.jwk]
    now += 31 * seconds
    await outcome(await tokenBy(third, now))
    expect(await outcome(token)).toBe(refused)
  })

  test('is verified again with a set that was loaded again', async () => {
    const token = await tokenBy(first, now)
    await outcome(token)
    now += 10 * minutes
    expect(await outcome(token)).toBe('u1')
    expect(verifications).toHaveBeenCalledTimes(2)
  })

  test('does not vouch for another signature of the same content', async () => {
    const token = await tokenBy(first, now)
    await outcome(token)
    const [header, payload] = token.split('.')
    const [, , signature] = (await tokenBy(second, now)).split('.')
    expect(await outcome(`${header}.${payload}.${signature}`)).toBe(refused)
  })

  test('is forgotten when 200 others were used since', async () => {
    const token = await tokenBy(first, now)
    await outcome(token)
    for (let n = 1; n <= 200; n += 1) await outcome(await tokenBy(first, now - n * seconds))
    await outcome(token)
    expect(verifications).toHaveBeenCalledTimes(202)
  })

  test('is remembered when it was used again before 200 others', async () => {
    const token = await tokenBy(first, now)
    await outcome(token)
    for (let n = 1; n <= 150; n += 1) await outcome(await tokenBy(first, now - n * seconds))
    await outcome(token)
    for (let n = 151; n < 350; n += 1) await outcome(await tokenBy(first, now - n * seconds))
    verifications.mockClear()
    expect(await outcome(token)).toBe('u1')
    expect(verifications).not.toHaveBeenCalled()
  })
})

describe('with a known set of keys, a token that was verified', () => {
  const local = tokenVerifier({ ...localSettings, ...settings })

  test('is checked for its nonce each time', async () => {
    const token = await tokenFor({ sub: 'u2', claims: { nonce: 'n1' } }, localSettings, now)
    expect(await outcome(token, { nonce: 'n1', by: local })).toBe('u2')
    expect(await outcome(token, { nonce: 'n2', by: local })).toBe(refused)
    expect(await outcome(token, { nonce: 'n1', by: local })).toBe('u2')
  })

  test('is refused when the clock is set back before its first use and its nbf', async () => {
    const token = await tokenFor({ claims: { nbf: now / seconds } }, localSettings, now)
    await outcome(token, { by: local })
    now -= tolerance + 1 * minutes
    expect(await outcome(token, { by: local })).toBe(refused)
  })
})

test('a token that was refused is not remembered', async () => {
  const local = tokenVerifier(localSettings)
  const token = await tokenFor({ sub: 'u3', claims: { nbf: now / seconds + 600 } }, localSettings, now)
  expect(await outcome(token, { by: local })).toBe(refused)
  now += 10 * minutes
  expect(await outcome(token, { by: local })).toBe('u3')
})
