import { derivedIdAt, isId, minuteMilliseconds } from '../base/clock.ts'
import { Denial, Failure } from '../base/failure.ts'
import type { Actor } from '../identity/caller.ts'
import { isEntity, keyOf, maxShards } from '../table/keys.ts'
import type { Table } from '../table/table.ts'
import { hasRoom } from '../table/window.ts'
import { type AuditedAction, type AuditSource, auditItem, auditPut } from './audit-record.ts'

/** The denied action. It contains only data that the caller sent. */
export interface DeniedAction extends Pick<AuditedAction, 'action' | 'after'> {
  /** The first part of the operation's name, such as `codes`. */
  area: string
  /** What names the item in the request, whatever it is. */
  id?: unknown
  /** The principal, if many of its equal denials share a record. */
  summedBy?: string
}

/** The dependencies of a denial. */
interface DenialContext extends AuditSource {
  table: Table
  caller: Actor | undefined
}

/** The equal denials in a minute that get a record each. The others share one. */
const maxEqual = 10

/**
 * Writes the audit record of a denial, if the error is one and the caller is known.
 * @param describe returns the denied action; called only for a denial
 * @returns the error for the response
 * @throws DEPENDENCY.* when the record cannot be written
 */
export async function writeDenial(
  thrown: unknown,
  describe: () => DeniedAction,
  { caller, correlation, table, clock }: DenialContext,
): Promise<unknown> {
  const error = thrown instanceof Denial ? thrown.failure : thrown
  const reason = thrown instanceof Denial ? thrown.reason : deniedCode(thrown)
  if (!caller || !reason) return error
  const { area, id, summedBy, ...denied } = describe()
  const source = { correlation, clock }
  if (summedBy !== undefined) {
    const equal = ['denials', caller.tenant, summedBy, denied.action, reason]
    const counter = { subject: equal, limit: maxEqual, windowSeconds: minuteMilliseconds / 1000 }
    if (!(await hasRoom(counter, table, clock))) {
      const summedAction = { action: denied.action, target: area, result: 'deny' as const, reason }
      const { pk: _pk, sk: _sk, ...record } = auditItem(caller, summedAction, source)
      const minute = Math.floor(clock.now() / minuteMilliseconds) * minuteMilliseconds
      const summed = derivedIdAt(minute, JSON.stringify(equal), maxShards)
      const update = keyOf(caller.tenant, 'audit', summed)
      await table.update({ update, set: record, increment: ['count'], condition: 'none' })
      return error
    }
  }
  const target =
    thrown instanceof Denial ? thrown.target : await ownTarget({ area, id, tenant: caller.tenant }, table)
  const audited = { ...denied, target, result: 'deny' as const, reason }
  await table.put(auditPut(caller, audited, source))
  return error
}

function deniedCode(thrown: unknown): string | undefined {
  return thrown instanceof Failure && /^(AUTHZ|POLICY)\./.test(thrown.code) ? thrown.code : undefined
}

/**
 * Returns `code/<id>` for the area `codes` if the caller's tenant has the item, else the area. Many requests are denied
 * before their item is read, and the audit of a tenant holds no id of another tenant.
 */
async function ownTarget(
  { area, id, tenant }: Pick<DeniedAction, 'area' | 'id'> & { tenant: string },
  table: Table,
): Promise<string> {
  const entity = area.replace(/s$/, '')
  if (typeof id !== 'string' || !isId(id) || !isEntity(entity)) return area
  const isOwn = (await table.get(keyOf(tenant, entity, id))) !== undefined
  return isOwn ? `${entity}/${id}` : area
}
