import { highestRole, type Role } from '../platform/auth/caller.ts'
import { tenantPattern } from '../platform/auth/tenant.ts'
import type { Settings } from '../settings/register.ts'

/** The attributes of a user in the pool that say what they may do; only whoever runs the service writes them. */
export const userAttributes = { tenant: 'tenant', role: 'role' } as const

/** A user as the pool tells of them. */
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
    role: highestRole(attributes[`custom:${userAttributes.role}`]),
  }
}

/** What an access token gets beyond what the pool puts into it. */
export interface AddedClaims {
  claims: Record<string, string>
  scopes: string[]
  groups: string[] | undefined
}

/**
 * The claims by which the service knows a caller: tenant, role, scopes and, as Cognito's access tokens have none of
 * their own, the audience.
 * @param clientId the app client, the only audience that Cognito lets a trigger name
 */
export function claimsFor({ tenant, role }: PoolUser, clientId: string, settings: Settings): AddedClaims {
  const roleClaim = settings['auth.roleClaim']
  const scopeClaim = settings['auth.scopeClaim']
  const scopes = role ? settings['login.scopes'][role] : []
  // Names that begin with cognito: are Cognito's own; of these, groups alone can be set.
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
