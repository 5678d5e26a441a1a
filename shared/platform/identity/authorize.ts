import type { Settings } from '../../settings/register.ts'
import { Denial, fail } from '../base/failure.ts'
import type { Route } from '../request/route.ts'
import type { Caller } from './caller.ts'
import { type Access, reachOf } from './permissions.ts'

/** The tenants that the caller may access in this request. */
export interface Scope {
  /** The tenant of the request. */
  tenant: string
  /** True when the caller may access all tenants and names none: a read by id then searches all tenants. */
  allTenants: boolean
}

/**
 * Checks role, tenant, scopes and second factor, in this order. The role determines the permissions of people. An API
 * key also needs a scope for every operation.
 * @param addressed the tenant that the request names, if any
 * @throws AUTHZ.role.denied, AUTHZ.scope.tenant, AUTHZ.scope.token, POLICY.mfa.required
 */
export function authorize(
  caller: Caller,
  route: Pick<Route, 'operation' | 'scope'> & { access: Access },
  addressed: string | undefined,
  settings: Settings,
): Scope {
  const reach = reachOf(caller.role, route.access, settings['auth.serviceRole'].actsAs)
  if (reach === 'deny') throw fail('AUTHZ.role.denied')
  if (reach === 'own' && addressed !== undefined && addressed !== caller.tenant) {
    const failure = fail('AUTHZ.scope.tenant', { http: settings['auth.crossTenantStatus'] })
    // The path may name an item of the other tenant, so the audit record names the area only.
    throw new Denial(failure, failure.code, areaOf(route))
  }
  checkScopes(caller, route, settings)
  checkFactors(caller, route.operation, settings['auth.mfa'])
  return { tenant: addressed ?? caller.tenant, allTenants: reach === 'any' && addressed === undefined }
}

/** Returns the first part of an operation's name, such as `codes`. */
export function areaOf({ operation }: Pick<Route, 'operation'>): string {
  return operation.split('.')[0] ?? ''
}

type Scoped = Pick<Route, 'operation' | 'scope'>

/** Returns the scopes that an operation requires of a token. */
export function tokenScopes({ operation, scope }: Scoped, settings: Settings): string[] {
  const needed = scope ?? settings['auth.scopes'][operation]
  return needed === undefined ? [] : [needed]
}

/** Returns the scopes that an operation requires of an API key; undefined if no key may use the operation. */
export function apiKeyScopes(route: Scoped, settings: Settings): string[] | undefined {
  const { operation } = route
  const own = settings['auth.operationScopes']
  if (!Object.hasOwn(own, operation)) return undefined
  return [...new Set([own[operation] as string, ...tokenScopes(route, settings)])]
}

function checkScopes(caller: Caller, route: Scoped, settings: Settings): void {
  const byRole = caller.scopes.size === 0 && settings['auth.apiKeyPermissions'] === 'role'
  const narrow = caller.apiKey && !byRole
  const needed = narrow ? apiKeyScopes(route, settings) : tokenScopes(route, settings)
  if (needed?.every((scope) => caller.scopes.has(scope))) return
  const scheme = caller.apiKey ? 'ApiKey' : 'Bearer'
  const scope = needed ? `, scope="${needed.join(' ')}"` : ''
  const hint = `${scheme} realm="commerce-api", error="insufficient_scope"${scope}`
  throw fail('AUTHZ.scope.token', { headers: { 'WWW-Authenticate': hint } })
}

function checkFactors(
  caller: Caller,
  operation: string,
  { operations, claim, value }: Settings['auth.mfa'],
): void {
  if (!operations.includes(operation)) return
  const proof = caller.claims[claim]
  if (proof === value || (Array.isArray(proof) && proof.includes(value))) return
  const hint = `Bearer realm="commerce-api", error="insufficient_user_authentication", acr_values="${value}"`
  throw fail('POLICY.mfa.required', { headers: { 'WWW-Authenticate': hint } })
}
