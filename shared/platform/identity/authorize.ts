import type { ErrorCode } from '../../error-catalog.ts'
import type { Settings } from '../../settings/register.ts'
import { isId } from '../base/clock.ts'
import { Denial, fail } from '../base/failure.ts'
import { type Entity, type Item, keyOf, ownerOf } from '../table/keys.ts'
import type { Table } from '../table/table.ts'
import type { BlockCheck } from './blocked-tenants.ts'
import { type Caller, type Role, roles } from './caller.ts'
import { claimAt } from './claims.ts'

/** The operation that a caller asks for. */
interface AccessedOperation {
  operation: string
  /** A fixed token scope. */
  scope?: string
}

/** The tenants that the caller may access in this request. */
export interface TenantScope {
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
  route: AccessedOperation & { access: Access },
  addressed: string | undefined,
  settings: Settings,
): TenantScope {
  const { actsAs } = settings['auth.serviceRole']
  const reach = tenantReachOf(caller.role, route.access, actsAs)
  if (reach === 'deny') {
    const required_roles = roles.filter((role) => tenantReachOf(role, route.access, actsAs) !== 'deny')
    const claim = caller.role === undefined && caller.claimPaths?.roles
    throw fail('AUTHZ.role.denied', { details: { required_roles, ...(claim && { claim }) } })
  }
  if (addressed !== undefined && !reaches(caller, reach, addressed)) {
    const failure = fail('AUTHZ.scope.tenant', { http: settings['auth.crossTenantStatus'] })
    // The path may name an item of the other tenant, so the audit record names the area only.
    throw new Denial(failure, failure.code, areaOf(route))
  }
  checkScopes(caller, route, settings)
  checkFactors(caller, route.operation, settings['auth.mfa'])
  const allTenants = reach === 'any' && addressed === undefined && caller.tenants === undefined
  return { tenant: addressed ?? caller.tenant, allTenants }
}

function reaches(caller: Caller, reach: TenantReach, tenant: string): boolean {
  if (tenant === caller.tenant) return true
  return reach === 'any' && (caller.tenants?.includes(tenant) ?? true)
}

/** Returns whether a caller may name a tenant as the grantee of a share. */
export function mayShareWith(caller: Caller, tenant: string, settings: Settings): boolean {
  return reaches(caller, tenantReachOf(caller.role, 'share', settings['auth.serviceRole'].actsAs), tenant)
}

/** Returns the first part of an operation's name, such as `codes`. */
export function areaOf({ operation }: Pick<AccessedOperation, 'operation'>): string {
  return operation.split('.')[0] ?? ''
}

/** Returns the scopes that an operation requires of a token. */
export function tokenScopes({ operation, scope }: AccessedOperation, settings: Settings): string[] {
  const needed = scope ?? settings['auth.scopes'][operation]
  return needed === undefined ? [] : [needed]
}

/** Returns the scopes that an operation requires of an API key; undefined if no key may use the operation. */
export function apiKeyScopes(route: AccessedOperation, settings: Settings): string[] | undefined {
  const scopes = settings['auth.operationScopes']
  const own = Object.hasOwn(scopes, route.operation) && scopes[route.operation]
  return own ? [...new Set([own, ...tokenScopes(route, settings)])] : undefined
}

function checkScopes(caller: Caller, route: AccessedOperation, settings: Settings): void {
  const byRole = caller.scopes.size === 0 && settings['auth.apiKeyPermissions'] === 'role'
  const narrow = caller.apiKey && !byRole
  const needed = narrow ? apiKeyScopes(route, settings) : tokenScopes(route, settings)
  if (needed?.every((scope) => caller.scopes.has(scope))) return
  const scheme = caller.apiKey ? 'ApiKey' : 'Bearer'
  const scope = needed
    ? `, scope="${needed.join(' ')}"`
    : ', error_description="no API key may use the operation: send a bearer token"'
  const challenge = `${scheme} realm="commerce-api", error="insufficient_scope"${scope}`
  const claim = caller.claimPaths?.scopes
  const details = needed && { required_scopes: needed, ...(claim && { claim }) }
  throw fail('AUTHZ.scope.token', { challenge, ...(details && { details }) })
}

function checkFactors(
  caller: Caller,
  operation: string,
  { operations, claim, value }: Settings['auth.mfa'],
): void {
  if (!operations.includes(operation)) return
  if ([claimAt(caller.claims, claim)].flat().includes(value)) return
  const insufficient = 'realm="commerce-api", error="insufficient_user_authentication"'
  const challenge = caller.apiKey
    ? `ApiKey ${insufficient}, error_description="no API key has a second factor: send a bearer token"`
    : `Bearer ${insufficient}, acr_values="${value}"`
  throw fail('POLICY.mfa.required', { challenge, ...(caller.claimPaths && { details: { claim } }) })
}

/** The access of a role to an operation: denied, its own tenant, or all tenants. */
type TenantReach = 'deny' | 'own' | 'any'

type HumanRole = Exclude<Role, 'Service'>

/** The permissions of each role, one rule per cell. Anything that is not listed is denied. */
export const permissions = {
  create: { Viewer: 'deny', Editor: 'own', Admin: 'any' },
  read: { Viewer: 'own', Editor: 'own', Admin: 'any' },
  list: { Viewer: 'own', Editor: 'own', Admin: 'any' },
  update: { Viewer: 'deny', Editor: 'own', Admin: 'any' },
  soft_delete: { Viewer: 'deny', Editor: 'own', Admin: 'any' },
  restore: { Viewer: 'deny', Editor: 'own', Admin: 'any' },
  hard_delete: { Viewer: 'deny', Editor: 'deny', Admin: 'any' },
  transfer: { Viewer: 'deny', Editor: 'own', Admin: 'any' },
  share: { Viewer: 'deny', Editor: 'own', Admin: 'any' },
} as const satisfies Record<string, Record<HumanRole, TenantReach>>

/** A row of `permissions`. `transfer` is export, import and bulk update. */
export type Access = keyof typeof permissions

/**
 * Returns the tenants that a role may access in an operation.
 * @param actsAs the role whose permissions Service has, from the settings; always within its own tenant
 */
export function tenantReachOf(
  role: Role | undefined,
  access: Access,
  actsAs: 'Viewer' | 'Editor',
): TenantReach {
  if (role === undefined) return 'deny'
  return permissions[access][role === 'Service' ? actsAs : role]
}

/**
 * Reads an item by id within the caller's scope. An item of another tenant gets the same response as an absent one,
 * after the same work: both look it up by id and write an audit record.
 * @throws `missing`, or AUTHZ.scope.tenant if the deployment responds to cross-tenant access with 403;
 *   POLICY.account.locked if an Admin names an item of another tenant that is blocked
 */
export async function locate(
  {
    table,
    scope,
    settings,
    isBlocked,
  }: { table: Table; scope: TenantScope; settings: Settings; isBlocked: BlockCheck },
  entity: Entity,
  id: string,
  missing: ErrorCode,
): Promise<Item> {
  const own = isId(id) ? await table.get(keyOf(scope.tenant, entity, id)) : undefined
  if (own) return own
  const elsewhere = isId(id) ? await table.findById(entity, id) : undefined
  const owner = elsewhere && ownerOf(elsewhere.pk).tenant
  if (!elsewhere || owner === undefined || owner === scope.tenant)
    throw new Denial(fail(missing), missing, entity)
  if (scope.allTenants) {
    if (await isBlocked(owner, table)) throw fail('POLICY.account.locked')
    const found = await table.get(elsewhere)
    if (found) return found
    throw new Denial(fail(missing), missing, entity)
  }
  const status = settings['auth.crossTenantStatus']
  const answer = status === 404 ? fail(missing) : fail('AUTHZ.scope.tenant', { http: status })
  throw new Denial(answer, 'AUTHZ.scope.tenant', entity)
}
