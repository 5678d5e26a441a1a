import type { Settings } from '../../settings/register.ts'
import { fail } from '../errors/failure.ts'
import type { Route } from '../http/route.ts'
import type { Caller } from './caller.ts'
import { type Access, reachOf } from './matrix.ts'

/** What a caller may touch in this request. */
export interface Scope {
  /** The tenant that the request works in. */
  tenant: string
  /** True when the caller reaches every tenant and has named none: a read by id then looks everywhere. */
  anywhere: boolean
}

/**
 * Decides by role, tenant, token scope and second factor, in that order (contract, 'Authentication').
 * @param addressed the tenant that the request names, if any
 * @throws AUTHZ.role.denied, AUTHZ.scope.tenant, AUTHZ.scope.token, POLICY.mfa.required
 */
export function authorise(
  caller: Caller,
  route: Pick<Route, 'operation' | 'scope'> & { access: Access },
  addressed: string | undefined,
  settings: Settings,
): Scope {
  const reach = reachOf(caller.role, route.access, settings['auth.serviceRole'].actsAs)
  if (reach === 'deny') throw fail('AUTHZ.role.denied')
  if (reach === 'own' && addressed !== undefined && addressed !== caller.tenant) {
    throw fail('AUTHZ.scope.tenant', { http: settings['auth.crossTenantStatus'] })
  }
  checkTokenScope(caller, route.scope ?? settings['auth.scopes'][route.operation])
  checkFactors(caller, route.operation, settings['auth.mfa'])
  return { tenant: addressed ?? caller.tenant, anywhere: reach === 'any' && addressed === undefined }
}

function checkTokenScope(caller: Caller, needed: string | undefined): void {
  if (needed === undefined || caller.scopes.has(needed)) return
  const hint = `Bearer realm="commerce-api", error="insufficient_scope", scope="${needed}"`
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
