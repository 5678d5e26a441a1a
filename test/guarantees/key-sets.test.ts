import { beforeEach, describe, expect, test } from '@jest/globals'
import { startBudget, systemClock } from '#shared/platform/base/clock.ts'
import { Failure } from '#shared/platform/base/failure.ts'
import { type TokenVerifier, tokenVerifier } from '#shared/platform/identity/token.ts'
import { type IssuerKey, issuerKey, tokenBy, useKeySetHost } from '#test/support/key-set-host.ts'

/** Floods, concurrent requests and requests without time for a key set. `tokens.test.ts` tests when it is loaded. */

const [first, second, third, forged] = await Promise.all([
  issuerKey('first'),
  issuerKey('second'),
  issuerKey('third'),
  issuerKey('forged'),
])
const hostOf = useKeySetHost(first, second)

let now = Date.now()
const minutes = 60_000

let host: ReturnType<typeof hostOf>
let verifier: TokenVerifier
beforeEach(() => {
  host = hostOf()
  verifier = tokenVerifier(host.settings, [], { now: () => now })
})

interface Sent {
  kid?: string
  /** The value of X-Request-Timeout. */
  milliseconds?: number
}

/** Returns the error code for a token signed by a key, or 'accepted'. */
async function outcome(by: IssuerKey, { milliseconds = 10_000, ...header }: Sent = {}): Promise<string> {
  const token = await tokenBy(by, now, 'kid' in header ? header : undefined)
  const budget = startBudget(systemClock, milliseconds)
  try {
    await verifier.verify(`Bearer ${token}`, undefined, now, budget)
    return 'accepted'
  } catch (thrown) {
    if (!(thrown instanceof Failure)) throw thrown
    return thrown.code
  }
}
const refused = 'AUTH.invalid_credentials'
const unavailable = 'DEPENDENCY.unavailable'

describe('a set of two keys', () => {
  test('is fetched once for concurrent requests', async () => {
    await Promise.all(Array.from({ length: 10 }, () => outcome(first)))
    expect(host.fetched).toBe(1)
  })

  test('is fetched once more for a flood of unknown keys', async () => {
    await outcome(first)
    now += minutes
    for (let n = 0; n < 20; n += 1) await outcome(forged, { kid: `unknown-${n}` })
    expect(host.fetched).toBe(2)
  })

  test('is fetched at most once more for a flood of unknown keys in requests without time for it', async () => {
    await outcome(first)
    now += minutes
    host.silent = true
    for (let n = 0; n < 20; n += 1) await outcome(forged, { kid: `unknown-${n}`, milliseconds: 50 })
    expect(host.fetched).toBeLessThanOrEqual(2)
  })

  test('refuses unknown keys in requests without time to fetch it', async () => {
    await outcome(first)
    now += minutes
    host.silent = true
    const outcomes = []
    for (let n = 0; n < 24; n += 1)
      outcomes.push(await outcome(forged, { kid: `unknown-${n}`, milliseconds: 1 }))
    expect(outcomes).toEqual(Array(24).fill(refused))
  })

  test('is fetched again for a request with time for it, after one without', async () => {
    await outcome(first)
    now += minutes
    host.silent = true
    await outcome(forged, { kid: 'unknown', milliseconds: 50 })
    host.silent = false
    host.keys = [third.jwk]
    expect(await outcome(third)).toBe('accepted')
  })
})

test('a set without keys rejects every token', async () => {
  host.keys = []
  expect(await outcome(first)).toBe(refused)
})

describe('while the issuer fails', () => {
  beforeEach(async () => {
    await outcome(first)
    host.fault = { status: 302, body: '' }
    now += minutes
  })

  test('known keys verify after an unknown key', async () => {
    await outcome(forged)
    expect(await outcome(first)).toBe('accepted')
  })

  test('a token of an unknown key is unavailable instead of rejected, because the key may be new', async () => {
    expect(await outcome(third)).toBe(unavailable)
  })
})

describe('while the issuer does not respond', () => {
  test('a request waits no longer than its budget', async () => {
    host.silent = true
    expect(await outcome(first, { milliseconds: 50 })).toBe('DEPENDENCY.timeout')
  })

  test('a request waits no longer than a load may take', async () => {
    host.silent = true
    expect(await outcome(first)).toBe(unavailable)
  })

  test('a request without a budget causes no failure for others', async () => {
    host.silent = true
    await outcome(forged, { milliseconds: 50 })
    host.silent = false
    expect(await outcome(first)).toBe('accepted')
  })

  test('a request without a budget does not abort the fetch of others', async () => {
    host.silent = true
    const long = outcome(first)
    await outcome(first, { milliseconds: 50 })
    expect(await long).toBe(unavailable)
  })

  test('a request with a small budget uses the known keys', async () => {
    await outcome(first)
    host.silent = true
    now += 30 * minutes
    expect(await outcome(first, { milliseconds: 500 })).toBe('accepted')
  })
})
