import {
  createLocalJWKSet,
  createRemoteJWKSet,
  decodeJwt,
  errors,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from 'jose'
import type { Settings } from '../../settings/register.ts'
import { type Failure, fail } from '../errors/failure.ts'
import { type Caller, highestRole } from './caller.ts'
import { tenantPattern } from './tenant.ts'

/** Longer than any honest token; checked before anything is parsed, in characters. */
const longestHeader = 8192
const longestSubject = 255
const restMilliseconds = 5000

type Issuer = Settings['auth.issuers'][number]

export interface TokenVerifier {
  /**
   * @param authorization the Authorization header
   * @param nonce what the client says it chose at login, from the header of the settings
   * @param now milliseconds since 1970
   * @throws AUTH.token.expired, AUTH.invalid_credentials, DEPENDENCY.unavailable when a key set is out of reach
   */
  verify(authorization: string | undefined, nonce: string | undefined, now: number): Promise<Caller>
}

/**
 * Verifies bearer tokens (contract, 'Authentication').
 * @param more issuers beside those of the settings
 */
export function tokenVerifier(settings: Settings, more: readonly Issuer[] = []): TokenVerifier {
  const issuers = new Map(
    [...settings['auth.issuers'], ...more].map((issuer) => [issuer.issuer, { issuer, keys: keySet(issuer) }]),
  )
  const tolerance = settings['auth.clockToleranceSeconds']

  async function claimsOf(token: string, now: number): Promise<JWTPayload> {
    // The issuer is read before the signature is checked, only to choose the keys that check it.
    const known = issuers.get(String(decodeJwt(token).iss))
    if (!known) throw invalidToken()
    const { payload } = await jwtVerify(token, known.keys, {
      issuer: known.issuer.issuer,
      audience: known.issuer.audience,
      algorithms: known.issuer.algorithms,
      requiredClaims: ['exp', 'sub', 'tenant'],
      clockTolerance: tolerance,
      currentDate: new Date(now),
    })
    if (payload.iat !== undefined && payload.iat > now / 1000 + tolerance + 1) throw invalidToken()
    // An ID token of Cognito says who somebody is, and has the same issuer, audience and keys.
    if (payload.token_use !== undefined && payload.token_use !== 'access') throw invalidToken()
    return payload
  }

  function checkNonce(claim: unknown, given: string | undefined): void {
    const { mode } = settings['auth.nonce']
    if (mode === 'off' || (mode === 'bound' && claim === undefined)) return
    if (typeof claim !== 'string' || claim === '' || claim !== given) throw invalidToken()
  }

  return {
    async verify(authorization, nonce, now) {
      const token = bearerToken(authorization)
      try {
        const claims = await claimsOf(token, now)
        checkNonce(claims.nonce, nonce)
        return callerOf(claims, settings)
      } catch (thrown) {
        throw refusalOf(thrown)
      }
    },
  }
}

function keySet({ keys }: Issuer): JWTVerifyGetKey {
  // The remote set is cached, and an unknown kid refreshes it at most once in the cool-down.
  if ('jwks_uri' in keys) {
    const remote = createRemoteJWKSet(new URL(keys.jwks_uri), {
      timeoutDuration: 2000,
      cooldownDuration: 30_000,
    })
    return restingAfterFailure(remote)
  }
  return createLocalJWKSet(keys as unknown as JSONWebKeySet)
}

/** A key set that cannot be had is not asked for again at once, or anybody's tokens would make a flood of requests. */
function restingAfterFailure(keys: JWTVerifyGetKey): JWTVerifyGetKey {
  let failed: { at: number; thrown: unknown } | undefined
  return async (header, token) => {
    if (failed && performance.now() - failed.at < restMilliseconds) throw failed.thrown
    try {
      const key = await keys(header, token)
      failed = undefined
      return key
    } catch (thrown) {
      if (!(thrown instanceof errors.JWKSNoMatchingKey)) failed = { at: performance.now(), thrown }
      throw thrown
    }
  }
}

function bearerToken(authorization: string | undefined): string {
  if (authorization === undefined) {
    throw fail('AUTH.invalid_credentials', { headers: { 'WWW-Authenticate': 'Bearer realm="commerce-api"' } })
  }
  const match =
    authorization.length <= longestHeader ? /^Bearer +([A-Za-z0-9._~+/=-]+)$/i.exec(authorization) : null
  if (!match?.[1]) throw invalidToken()
  return match[1]
}

function callerOf(claims: JWTPayload, settings: Settings): Caller {
  const { sub, tenant } = claims
  if (typeof sub !== 'string' || sub === '' || sub.length > longestSubject) throw invalidToken()
  if (typeof tenant !== 'string' || !tenantPattern.test(tenant)) throw invalidToken()
  const scope = claims[settings['auth.scopeClaim']]
  return {
    sub,
    tenant,
    role: highestRole(claims[settings['auth.roleClaim']]),
    scopes: new Set(typeof scope === 'string' ? scope.split(' ').filter(Boolean) : []),
    claims,
  }
}

function invalidToken(): Failure {
  return challenge('AUTH.invalid_credentials', 'the token is not valid')
}

function challenge(code: 'AUTH.invalid_credentials' | 'AUTH.token.expired', description: string): Failure {
  const hint = `Bearer realm="commerce-api", error="invalid_token", error_description="${description}"`
  return fail(code, { headers: { 'WWW-Authenticate': hint } })
}

function refusalOf(thrown: unknown): unknown {
  if (thrown instanceof errors.JWTExpired) return challenge('AUTH.token.expired', 'the token has expired')
  if (thrown instanceof errors.JWKSTimeout) return fail('DEPENDENCY.unavailable', { cause: thrown })
  // A key set that answers with an error is the issuer's fault, not the caller's.
  if (thrown instanceof errors.JOSEError && thrown.code === 'ERR_JOSE_GENERIC') {
    return fail('DEPENDENCY.unavailable', { cause: thrown })
  }
  if (thrown instanceof errors.JWKSInvalid) return fail('DEPENDENCY.unavailable', { cause: thrown })
  if (thrown instanceof errors.JOSEError) return invalidToken()
  if (thrown instanceof TypeError && thrown.message === 'fetch failed') {
    return fail('DEPENDENCY.unavailable', { cause: thrown })
  }
  return thrown
}
