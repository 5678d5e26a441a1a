import { importJWK, SignJWT } from 'jose'
import { routes } from '#functions/routes.ts'
import { apiKeyScopes, tokenScopes } from '#shared/platform/identity/authorize.ts'
import { claimsWith } from '#shared/platform/identity/claims.ts'
import type { Settings } from '#shared/settings/register.ts'
import { developmentKey, loadSettings } from '../../build/settings-file.ts'

export interface TokenRequest {
  tenant: string
  role: string
  sub: string
  /** Separated by spaces. */
  scope?: string | undefined
  /** Negative for an expired token. */
  expiresInSeconds?: number
  /** Overrides the standard claims; null removes one. */
  claims?: Record<string, unknown>
}

/** Signs a token of the local issuer. Invalid tokens are possible, to try out rejections. */
export async function issueToken(request: TokenRequest, profile?: string): Promise<string> {
  const { tenant, role, sub, scope, expiresInSeconds = 3600, claims = {} } = request
  const settings = await loadSettings(profile)
  const key = await developmentKey()
  const issuer = settings['auth.issuers'].find(
    ({ keys }) => 'keys' in keys && keys.keys.some(({ kid }) => kid === key.kid),
  )
  if (!issuer) throw new Error('no issuer of this profile has the key set "development"')
  const now = Math.floor(Date.now() / 1000)
  const standard = {
    iss: issuer.issuer,
    aud: issuer.audience,
    sub,
    iat: now,
    exp: now + expiresInSeconds,
    jti: crypto.randomUUID(),
  }
  const { claims: paths } = issuer
  const named = claimsWith([
    [paths.tenant, tenant],
    [paths.roles, [role]],
    [paths.scopes, scope],
  ])
  const payload = Object.entries({ ...standard, ...named, ...claims }).filter(([, value]) => value !== null)
  const [typ] = issuer.types
  const header = { alg: 'ES256', ...(typ && { typ }), kid: String(key.kid) }
  return new SignJWT(Object.fromEntries(payload))
    .setProtectedHeader(header)
    .sign(await importJWK(key, 'ES256'))
}

/** Returns the scopes of a command line that no operation requires, and those that operations require. */
export function unknownScopes(scope: string | undefined, settings: Settings) {
  const required = routes.flatMap(({ route }) => [
    ...tokenScopes(route, settings),
    ...(apiKeyScopes(route, settings) ?? []),
  ])
  const known = [...new Set(required)].sort()
  const unknown = (scope ?? '').split(' ').filter((one) => one !== '' && !known.includes(one))
  return { unknown, known }
}
