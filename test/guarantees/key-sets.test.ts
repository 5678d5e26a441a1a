import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { startBudget, systemClock } from '#shared/platform/base/clock.ts'
import { Failure } from '#shared/platform/base/failure.ts'
import { type TokenVerifier, tokenVerifier } from '#shared/platform/identity/token.ts'
import {
  type IssuerKey,
  issuerKey,
  type KeySetHost,
  startKeySetHost,
  tokenBy,
} from '#test/support/key-set-host.ts'

/** An issuer with several keys, as Cognito and others publish them: rotation, outages and attacks. */

const [first, second, third, forged] = await Promise.all(
  ['first', 'second', 'third', 'forged'].map(issuerKey),
)
if (!first || !second || !third || !forged) throw new Error('no keys')

let now = Date.now()
const clock = { now: () => now }
const seconds = 1000
const minutes = 60 * seconds

let host: KeySetHost
let verifier: TokenVerifier
beforeEach(async () => {
  host = await startKeySetHost(first, second)
  verifier = tokenVerifier(host.settings, [], clock)
})
afterEach(() => {
  host.server.closeAllConnections()
  return new Promise((done) => host.server.close(done))
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
const withoutKid = { kid: undefined as never }
const refused = 'AUTH.invalid_credentials'
const unavailable = 'DEPENDENCY.unavailable'

describe('a set of two keys', () => {
  test('verifies tokens of both', async () => {
    expect([await outcome(first), await outcome(second)]).toEqual(['accepted', 'accepted'])
  })

  test('is fetched once for concurrent requests', async () => {
    await Promise.all(Array.from({ length: 10 }, () => outcome(first)))
    expect(host.fetched).toBe(1)
  })

  test('accepts valid tokens after a token without kid', async () => {
    await outcome(forged, withoutKid)
    expect(await outcome(first)).toBe('accepted')
  })

  test.each(['first', 'x'.repeat(4000), '__proto__', ''])('rejects a forged token of kid %j', async (kid) => {
    await outcome(first)
    expect(await outcome(forged, { kid })).toBe(refused)
  })

  test('is fetched once more for a flood of unknown keys', async () => {
    await outcome(first)
    now += 1 * minutes
    for (let n = 0; n < 20; n += 1) await outcome(forged, { kid: `unknown-${n}` })
    expect(host.fetched).toBe(2)
  })

  test('is fetched at most once more for a flood of unknown keys in requests without time for it', async () => {
    await outcome(first)
    now += 1 * minutes
    host.silent = true
    for (let n = 0; n < 20; n += 1) await outcome(forged, { kid: `unknown-${n}`, milliseconds: 50 })
    expect(host.fetched).toBeLessThanOrEqual(2)
  })

  test('refuses unknown keys in requests without time to fetch it', async () => {
    await outcome(first)
    now += 1 * minutes
    host.silent = true
    const outcomes = []
    for (let n = 0; n < 24; n += 1)
      outcomes.push(await outcome(forged, { kid: `unknown-${n}`, milliseconds: 1 }))
    expect(outcomes).toEqual(Array(24).fill(refused))
  })

  test('is fetched again for a request with time for it, after one without', async () => {
    await outcome(first)
    now += 1 * minutes
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

const faults = {
  'answers 500': { status: 500, body: '{}' },
  redirects: { status: 302, body: '' },
  'sends no JSON': { status: 200, body: '<html>' },
  'sends no key set': { status: 200, body: '{"nokeys":1}' },
}

describe.each(Object.entries(faults))('while the issuer %s', (_, fault) => {
  test('a process without keys is unavailable', async () => {
    host.fault = fault
    expect(await outcome(first)).toBe(unavailable)
  })

  test('a process without keys fetches once for many tokens', async () => {
    host.fault = fault
    for (let n = 0; n < 5; n += 1) await outcome(first)
    expect(host.fetched).toBe(1)
  })

  test('known keys verify after an unknown key', async () => {
    await outcome(first)
    host.fault = fault
    now += 1 * minutes
    await outcome(forged)
    expect(await outcome(first)).toBe('accepted')
  })

  test('a token of an unknown key is unavailable instead of rejected, because the key may be new', async () => {
    await outcome(first)
    host.fault = fault
    now += 1 * minutes
    expect(await outcome(third)).toBe(unavailable)
  })
})

describe('while the issuer does not respond', () => {
  test('a request waits no longer than its budget', async () => {
    host.silent = true
    expect(await outcome(first, { milliseconds: 50 })).toBe('DEPENDENCY.timeout')
  })

  test('a request waits two seconds at most', async () => {
    host.silent = true
    const timeouts = jest.spyOn(AbortSignal, 'timeout')
    expect(await outcome(first)).toBe(unavailable)
    expect(timeouts.mock.calls).toContainEqual([2000])
    timeouts.mockRestore()
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
