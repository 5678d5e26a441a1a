import { createHash } from 'node:crypto'
import { decodeJwt, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose'
import type { ErrorCode } from '../../error-catalog.ts'
import type { Settings } from '../../settings/register.ts'
import { tenantNamePattern } from '../../settings/tenant-name.ts'
import { type Budget, type Clock, systemClock } from '../base/clock.ts'
import { type Details, Failure, fail, unseenCharacter } from '../base/failure.ts'
import { type Caller, roleFromClaim } from './caller.ts'
import { type ClaimPath, claimAt, textsOf } from './claims.ts'
import { type Issuer, type KeySet, keyIn, keySetOf, type LocalKeySet } from './issuer.ts'

/** In characters; longer than any legitimate token. Checked before parsing. */
const maxHeaderLength = 8192
const maxSubjectLength = 255

/** How many verified tokens are remembered. Each takes a few kilobytes at most. */
const maxVerified = 200

/**
 * A token that was verified. It is found by its hash, so the process keeps no token, and is used as long as verifying
 * it again with the same keys would succeed. Refused tokens are not remembered.
 */
interface VerifiedToken {
  caller: Caller
  keySet: KeySet
  /** The loaded keys that verified it; those of a later load do not count. */
  keys: LocalKeySet | undefined
  /** Milliseconds since 1970. */
  at: number
}

export interface TokenVerifier {
  /**
   * @param authorization the Authorization header
   * @param nonce the nonce that the client chose at login, from the header in the settings
   * @param now milliseconds since 1970
   * @param budget bounds the wait for the key set of the issuer
   * @throws AUTH.*, DEPENDENCY.* when the keys of the issuer cannot be loaded
   */
  verify(
    authorization: string | undefined,
    nonce: string | undefined,
    now: number,
    budget: Budget,
  ): Promise<Caller>
}

/**
 * Returns a verifier of bearer tokens.
 * @param more issuers in addition to those of the settings
 */
export function tokenVerifier(
  settings: Settings,
  more: readonly Issuer[] = [],
  clock: Pick<Clock, 'now'> = systemClock,
): TokenVerifier {
  const issuers = new Map(
    [...settings['auth.issuers'], ...more].map((issuer) => [
      issuer.issuer,
      { issuer, keySet: keySetOf(issuer.keys, clock) },
    ]),
  )
  const tolerance = settings['auth.clockToleranceSeconds']
  /** The least recently used is first. */
  const verified = new Map<string, VerifiedToken>()

  async function callerBy(token: string, now: number, budget: Budget): Promise<Caller> {
    const hash = createHash('sha256').update(token).digest('base64url')
    const known = verified.get(hash)
    const isKnown = known && (await isStillValid(known, now, budget))
    const current = isKnown ? known : await verifyToken(token, now, budget)
    verified.delete(hash)
    verified.set(hash, current)
    if (verified.size > maxVerified) verified.delete(String(verified.keys().next().value))
    return current.caller
  }

  /** Returns whether the same verification would succeed again. Its other checks do not depend on time or keys. */
  async function isStillValid({ caller, keySet, keys, at }: VerifiedToken, now: number, budget: Budget) {
    const expires = Number(caller.claims.exp)
    if (at > now || expires <= Math.floor(now / 1000) - tolerance) return false
    // If they cannot be loaded, the next verification says whose fault it is.
    return (await keySet.get(budget).catch(() => null)) === keys
  }

  async function verifyToken(token: string, now: number, budget: Budget): Promise<VerifiedToken> {
    if (!token.split('.').every(isBase64Url)) throw invalidToken()
    // The unverified issuer only selects the keys that verify the signature.
    const { iss } = decodeJwt(token)
    const known = typeof iss === 'string' ? issuers.get(iss) : undefined
    if (!known) throw invalidToken()
    const { issuer, keySet } = known
    let keys: LocalKeySet | undefined
    const keyOf: JWTVerifyGetKey = async (header, jws) => {
      const keyFrom = async (loading: Promise<LocalKeySet>) => {
        keys = await loading
        return keyIn(keys, header, jws)
      }
      try {
        return await keyFrom(keySet.get(budget))
      } catch (thrown) {
        // The issuer may have a new key.
        if (thrown instanceof errors.JWKSNoMatchingKey) {
          return keyFrom(keySet.renew(budget)).catch(notOfService)
        }
        if (issuer.tenants) notOfService(thrown)
        throw thrown
      }
    }
    const { payload, protectedHeader } = await jwtVerify(token, keyOf, {
      issuer: issuer.issuer,
      algorithms: issuer.algorithms,
      requiredClaims: ['exp', 'iat', 'sub'],
      clockTolerance: tolerance,
      currentDate: new Date(now),
    })
    const { iat = 0, exp = 0 } = payload
    if (iat > now / 1000 + tolerance + 1) throw invalidToken(['iat'])
    if (exp - iat > settings['auth.maxTokenSeconds']) throw invalidToken(['exp'])
    checkAudience(payload, issuer)
    checkAccess(payload, protectedHeader.typ, issuer)
    return { caller: callerOf(payload, issuer, settings), keySet, keys, at: now }
  }

  function checkNonce(claim: unknown, given: string | undefined): void {
    const { mode, header } = settings['auth.nonce']
    if (mode === 'off' || (mode === 'bound' && claim === undefined)) return
    if (typeof claim !== 'string' || claim === '' || claim !== given) throw invalidToken(['nonce'], header)
  }

  return {
    async verify(authorization, nonce, now, budget) {
      const token = bearerToken(authorization)
      try {
        const caller = await callerBy(token, now, budget)
        checkNonce(caller.claims.nonce, nonce)
        return caller
      } catch (thrown) {
        throw refusalOf(thrown, settings['errors.expiredToken'])
      }
    },
  }
}

function bearerToken(authorization: string | undefined): string {
  if (authorization === undefined) {
    throw fail('AUTH.invalid_credentials', { challenge: 'Bearer realm="commerce-api"' })
  }
  const match =
    authorization.length <= maxHeaderLength ? /^Bearer +([A-Za-z0-9._~+/=-]+)$/i.exec(authorization) : null
  if (!match?.[1]) throw invalidToken()
  return match[1]
}

/**
 * Throws the failure of a renewal, or of the issuer of some tenants. Anyone can send tokens with unknown keys, or with the name of an
 * issuer that is unavailable or publishes bad keys: neither may raise alarms or stop deployments.
 */
function notOfService(cause: unknown): never {
  throw cause instanceof Failure ? fail(cause.code, { cause, causedByCaller: true }) : cause
}

/** Returns whether a part of a token is in base64url exactly. jose also decodes other spellings of the same bytes. */
function isBase64Url(part: string): boolean {
  return Buffer.from(part, 'base64url').toString('base64url') === part
}

/** Claims that access tokens do not have: ID tokens, logout tokens and other security events do. */
const foreignClaims = ['at_hash', 'c_hash', 's_hash', 'events']

/**
 * Refuses a token that does not grant access. An issuer signs ID tokens and logout tokens with the same keys, and often with the
 * same type, but they have no scopes. Only the type `at+jwt` says that a token is for access (RFC 9068). A token with `cnf` is
 * valid only with a proof that its sender holds a key (DPoP, mTLS), and this service checks none.
 */
function checkAccess(claims: JWTPayload, typ: unknown, { types, claims: paths }: Issuer): void {
  if (typ !== undefined && typeof typ !== 'string') throw invalidToken()
  const type = typ === undefined ? null : mediaType(typ)
  if (!types.some((one) => (one === null ? null : mediaType(one)) === type)) throw invalidToken()
  if ([...foreignClaims, 'cnf'].some((name) => Object.hasOwn(claims, name))) throw invalidToken()
  if (claims.token_use === 'access') return
  if (claims.token_use !== undefined) throw invalidToken()
  if (type !== 'at+jwt' && claimAt(claims, paths.scopes) === undefined) throw invalidToken(paths.scopes)
}

/** Returns the type in the form in which types are compared (RFC 7515 4.1.9). */
function mediaType(typ: string): string {
  return typ.toLowerCase().replace(/^application\//, '')
}

/** Checks the audience in `aud`, and in the other claim of the issuer only if the token has no `aud`. */
function checkAudience(claims: JWTPayload, { audience, claims: paths }: Issuer): void {
  const path = claims.aud === undefined && paths.audience ? paths.audience : ['aud']
  if (![claimAt(claims, path)].flat().includes(audience)) throw invalidToken(path)
}

function callerOf(claims: JWTPayload, { tenants, claims: paths }: Issuer, settings: Settings): Caller {
  const { sub } = claims
  if (typeof sub !== 'string' || sub === '' || sub.length > maxSubjectLength) throw invalidToken(['sub'])
  // The table stores no lone surrogates, and the audit shows the subject.
  if (unseenCharacter.test(sub)) throw invalidToken(['sub'])
  // An issuer whose tokens name no tenant is bound to one.
  const tenant = paths.tenant ? claimAt(claims, paths.tenant) : tenants?.[0]
  const isTenant = typeof tenant === 'string' && tenantNamePattern(settings).test(tenant)
  if (!isTenant || (tenants && !tenants.includes(tenant))) throw invalidToken(paths.tenant)
  return {
    sub,
    tenant,
    role: roleFromClaim(claimAt(claims, paths.roles)),
    scopes: new Set(textsOf(claimAt(claims, paths.scopes))),
    ...(tenants && { tenants }),
    claims,
    claimPaths: paths,
  }
}

/**
 * @param claim the one that is missing or not valid, by its path in the settings, never by a name that a token chose
 * @param header the one that must repeat the claim
 */
function invalidToken(claim?: ClaimPath, header?: string): Failure {
  const description = `the token is not valid${claim ? `: claim ${claim.join('.')}` : ''}`
  return challenge('AUTH.invalid_credentials', description, {
    ...(claim && { claim }),
    ...(header && { header }),
  })
}

function challenge(code: ErrorCode, description: string, details?: Details): Failure {
  return fail(code, {
    challenge: `Bearer realm="commerce-api", error="invalid_token", error_description="${description}"`,
    ...(details && { details }),
  })
}

function refusalOf(thrown: unknown, expired: ErrorCode): unknown {
  if (thrown instanceof errors.JWTExpired) return challenge(expired, 'the token has expired')
  // The names of these claims are constants of jose.
  if (thrown instanceof errors.JWTClaimValidationFailed) return invalidToken([thrown.claim])
  return thrown instanceof errors.JOSEError ? invalidToken() : thrown
}
