import {
  type CryptoKey,
  createLocalJWKSet,
  errors,
  type FlattenedJWSInput,
  type JSONWebKeySet,
  type JWSHeaderParameters,
} from 'jose'
import type { Settings } from '../../settings/register.ts'
import { cachedLoad } from '../base/cached-load.ts'
import type { Budget, Clock } from '../base/clock.ts'
import { fail } from '../base/failure.ts'

/** An issuer of tokens, as the settings describe it. */
export type Issuer = Settings['auth.issuers'][number]

/**
 * Returns the issuer of the deployment's own user pool, whose id is known only after deployment. Its trigger adds tenant
 * and role (shared/login/token-claims.ts). Access tokens of Cognito have no `aud`: they name the app client.
 * @param environment USER_POOL_ISSUER and USER_POOL_CLIENT_ID; AWS_ENDPOINT_URL if an emulator replaces AWS: it then
 * serves the keys, and the issuer keeps its name
 */
export function poolIssuer(environment: NodeJS.ProcessEnv): Issuer[] {
  const { USER_POOL_ISSUER: issuer, USER_POOL_CLIENT_ID: audience, AWS_ENDPOINT_URL: engine } = environment
  if (!issuer || !audience) return []
  const address = engine ? `${engine}${new URL(issuer).pathname}` : issuer
  const keys = { jwks_uri: `${address}/.well-known/jwks.json` }
  const claims = { tenant: ['tenant'], roles: ['roles'], scopes: ['scope'], audience: ['client_id'] }
  return [{ issuer, audience, claims, algorithms: ['RS256'], types: [null], keys }]
}

/** The keys of an issuer. Each load returns another object. @throws DEPENDENCY.* when they cannot be loaded */
export interface KeySet {
  get(budget: Budget): Promise<LocalKeySet>
  /** Loads the keys again, but at most every 30 seconds. */
  renew(budget: Budget): Promise<LocalKeySet>
}

export type LocalKeySet = ReturnType<typeof createLocalJWKSet>

const times = {
  deadline: 2000,
  refreshAfter: 600_000,
  /** How long known keys are used during an outage of the issuer. A key that it withdraws is accepted as long. */
  maxAge: 3_600_000,
  pauseAfterFailure: 5000,
}
/** Anyone can create tokens with unknown keys, so they reload a set at most this often. */
const reloadMilliseconds = 30_000

/** Returns the keys of an issuer: those of the settings, or those that it publishes. */
export function keySetOf(keys: Issuer['keys'], clock: Pick<Clock, 'now'>): KeySet {
  if ('jwks_uri' in keys) {
    const cached = cachedLoad((signal) => fetchKeys(keys.jwks_uri, signal), times, clock)
    return { get: cached.get, renew: (budget) => cached.renew(budget, reloadMilliseconds) }
  }
  const local = createLocalJWKSet(keys as unknown as JSONWebKeySet)
  return { get: async () => local, renew: async () => local }
}

async function fetchKeys(url: string, signal: AbortSignal): Promise<LocalKeySet> {
  try {
    const response = await fetch(url, { signal, redirect: 'error', headers: { Accept: 'application/json' } })
    if (response.status === 200) return createLocalJWKSet(JSON.parse(await textOf(response)))
    await response.body?.cancel()
    throw new Error(`the key set is answered with status ${response.status}`)
  } catch (cause) {
    throw fail('DEPENDENCY.unavailable', { cause })
  }
}

/** Far more than any issuer publishes. A function has 1 GB, and an issuer may be hostile. */
const maxKeySetBytes = 256_000

async function textOf({ body }: Response): Promise<string> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of (body ?? []) as unknown as AsyncIterable<Uint8Array>) {
    bytes += part.length
    if (bytes > maxKeySetBytes) throw new Error(`the key set has more than ${maxKeySetBytes} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts).toString()
}

/** In bits. jose throws a TypeError for a shorter key, also if nobody has signed the token. */
const leastModulusLength = 2048

/**
 * Finds the only key that matches the header of a token. jose accepts a token without `kid` only if the set has exactly
 * one key for its algorithm.
 * @throws JWKSNoMatchingKey, JWKSMultipleMatchingKeys, JOSENotSupported, DEPENDENCY.unavailable if a key is unreadable or weak
 */
export async function keyIn(
  keys: LocalKeySet,
  header: JWSHeaderParameters | undefined,
  token: FlattenedJWSInput | undefined,
): Promise<CryptoKey> {
  try {
    const key = await keys(header, token)
    const { modulusLength = leastModulusLength } = key.algorithm as { modulusLength?: number }
    if (modulusLength < leastModulusLength) throw new Error(`an RSA key has ${modulusLength} bits`)
    return key
  } catch (thrown) {
    const ofToken =
      thrown instanceof errors.JWKSNoMatchingKey ||
      thrown instanceof errors.JWKSMultipleMatchingKeys ||
      thrown instanceof errors.JOSENotSupported
    // An unreadable or weak key in the set is a fault of the issuer.
    throw ofToken ? thrown : fail('DEPENDENCY.unavailable', { cause: thrown })
  }
}
