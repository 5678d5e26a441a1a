import { type Role, roleFromClaim } from '../platform/identity/caller.ts'
import { tenantPattern } from '../platform/table/keys.ts'
import type { Settings } from '../settings/register.ts'

/** The pool attributes that define a user's permissions. Only operators of the service write them. */
export const userAttributes = { tenant: 'tenant', role: 'role' } as const

/** A user of the pool. */
export interface PoolUser {
  sub: string
  tenant: string | undefined
  role: Role | undefined
}

export function userOf(attributes: Readonly<Record<string, string | undefined>>): PoolUser {
  const tenant = attributes[`custom:${userAttributes.tenant}`] ?? ''
  return {
    sub: attributes.sub ?? '',
    tenant: tenantPattern.test(tenant) ? tenant : undefined,
    role: roleFromClaim(attributes[`custom:${userAttributes.role}`]),
  }
}

/** The claims added to the pool's access token. */
interface AddedClaims {
  claims: Record<string, string>
  scopes: string[]
  groups: string[] | undefined
}

/**
 * Returns the claims that identify a caller: tenant, role, scopes, and the audience, which Cognito's access tokens
 * lack.
 * @param clientId the app client, the only audience that Cognito lets a trigger set
 */
export function claimsFor({ tenant, role }: PoolUser, clientId: string, settings: Settings): AddedClaims {
  const roleClaim = settings['auth.roleClaim']
  const scopeClaim = settings['auth.scopeClaim']
  const scopes = role ? settings['login.scopes'][role] : []
  // Names that start with cognito: are reserved; only groups can be set.
  const asGroup = roleClaim === 'cognito:groups'
  return {
    claims: {
      aud: clientId,
      ...(tenant !== undefined && { tenant }),
      ...(role && !asGroup && { [roleClaim]: role }),
      ...(scopeClaim !== 'scope' && { [scopeClaim]: scopes.join(' ') }),
    },
    scopes: scopeClaim === 'scope' ? scopes : [],
    groups: asGroup ? (role ? [role] : []) : undefined,
  }
}
