import {
  type CryptoKey,
  createLocalJWKSet,
  errors,
  type FlattenedJWSInput,
  type JSONWebKeySet,
  type JWSHeaderParameters,
} from 'jose'
import type { Settings } from '../../settings/register.ts'
import type { Budget } from '../base/budget.ts'
import { cachedLoad } from '../base/cached-load.ts'
import type { Clock } from '../base/clock.ts'
import { fail } from '../base/failure.ts'

/**
 * Finds the only public key of an issuer that matches the header of a token.
 * @throws JWKSNoMatchingKey, JWKSMultipleMatchingKeys, DEPENDENCY.* when the keys cannot be loaded or read
 */
export type KeySet = (
  header: JWSHeaderParameters | undefined,
  token: FlattenedJWSInput | undefined,
  budget: Budget,
) => Promise<CryptoKey>

type LocalKeySet = ReturnType<typeof createLocalJWKSet>

const times = {
  deadline: 2000,
  refreshAfter: 600_000,
  /** How long known keys are used during an outage of the issuer. A key that it withdraws is accepted as long. */
  maxAge: 3_600_000,
  pauseAfterFailure: 5000,
}
/** Anyone can create tokens with unknown keys, so they reload a set at most this often. */
const reloadMilliseconds = 30_000

export function keySetOf(keys: Settings['auth.issuers'][number]['keys'], clock: Pick<Clock, 'now'>): KeySet {
  if ('jwks_uri' in keys) return remoteKeySet(keys.jwks_uri, clock)
  const local = createLocalJWKSet(keys as unknown as JSONWebKeySet)
  return (header, token) => keyIn(local, header, token)
}

function remoteKeySet(url: string, clock: Pick<Clock, 'now'>): KeySet {
  const cached = cachedLoad((signal) => fetchKeys(url, signal), times, clock)
  return async (header, token, budget) => {
    try {
      return await keyIn(await cached.get(budget), header, token)
    } catch (thrown) {
      if (!(thrown instanceof errors.JWKSNoMatchingKey)) throw thrown
      // The issuer may have a new key.
      return keyIn(await cached.renew(budget, reloadMilliseconds), header, token)
    }
  }
}

async function fetchKeys(url: string, signal: AbortSignal): Promise<LocalKeySet> {
  try {
    const response = await fetch(url, { signal, redirect: 'error', headers: { Accept: 'application/json' } })
    if (response.status === 200) return createLocalJWKSet((await response.json()) as JSONWebKeySet)
    await response.body?.cancel()
    throw new Error(`the key set is answered with status ${response.status}`)
  } catch (cause) {
    throw fail('DEPENDENCY.unavailable', { cause })
  }
}

/** jose accepts a token without `kid` only if the set has exactly one key for its algorithm. */
async function keyIn(
  keys: LocalKeySet,
  header: JWSHeaderParameters | undefined,
  token: FlattenedJWSInput | undefined,
): Promise<CryptoKey> {
  try {
    return await keys(header, token)
  } catch (thrown) {
    const ofToken =
      thrown instanceof errors.JWKSNoMatchingKey ||
      thrown instanceof errors.JWKSMultipleMatchingKeys ||
      thrown instanceof errors.JOSENotSupported
    // An unreadable key in the set is a fault of the issuer.
    throw ofToken ? thrown : fail('DEPENDENCY.unavailable', { cause: thrown })
  }
}
