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

/** The claims added to the pool's access token: where `poolIssuer` looks for them. */
interface AddedClaims {
  claims: { tenant?: string; roles?: Role }
  scopes: string[]
}

export function claimsFor({ tenant, role }: PoolUser, settings: Settings): AddedClaims {
  return {
    claims: { ...(tenant !== undefined && { tenant }), ...(role && { roles: role }) },
    scopes: role ? settings['login.scopes'][role] : [],
  }
}
