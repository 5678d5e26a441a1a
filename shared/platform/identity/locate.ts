import type { ErrorCode } from '../../error-catalog.ts'
import type { Settings } from '../../settings/register.ts'
import { Denial, fail } from '../base/failure.ts'
import { isUuidV7 } from '../base/ids.ts'
import { type Entity, type Item, keyOf, ownerOf } from '../table/keys.ts'
import type { Table } from '../table/table.ts'
import type { Scope } from './authorize.ts'

/**
 * Reads an item by id within the caller's scope. An item of another tenant gets the same response as an absent one,
 * after the same work: both look it up by id and write an audit record.
 * @throws `missing`, or AUTHZ.scope.tenant if the deployment responds to cross-tenant access with 403
 */
export async function locate(
  table: Table,
  scope: Scope,
  entity: Entity,
  id: string,
  missing: ErrorCode,
  settings: Settings,
): Promise<Item> {
  const own = isUuidV7(id) ? await table.get(keyOf(scope.tenant, entity, id)) : undefined
  if (own) return own
  const elsewhere = isUuidV7(id) ? await table.findById(entity, id) : undefined
  if (!elsewhere || ownerOf(elsewhere.pk).tenant === scope.tenant)
    throw new Denial(fail(missing), missing, entity)
  if (scope.allTenants) {
    const found = await table.get(elsewhere)
    if (found) return found
    throw new Denial(fail(missing), missing, entity)
  }
  const status = settings['auth.crossTenantStatus']
  const answer = status === 404 ? fail(missing) : fail('AUTHZ.scope.tenant', { http: status })
  throw new Denial(answer, 'AUTHZ.scope.tenant', entity)
}
