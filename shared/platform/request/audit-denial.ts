import type { Settings } from '../../settings/register.ts'
import { type Clock, derivedIdAt, isId } from '../base/clock.ts'
import { Denial, Failure } from '../base/failure.ts'
import type { HttpRequest } from '../base/http.ts'
import { type AuditEntry, auditItem, type CommitContext } from '../idempotency/commit.ts'
import { areaOf } from '../identity/authorize.ts'
import { principalOf } from '../identity/caller.ts'
import { type Item, isEntity, keyOf } from '../table/keys.ts'
import type { Table, Update } from '../table/table.ts'
import { parseBody } from './check-request.ts'
import type { RequestContext } from './context.ts'
import { hasRoom } from './rate-limit.ts'
import { type Route, sumsDenials } from './route.ts'

/** The denied action. It contains only data that the caller sent. */
export interface Attempt extends Pick<AuditEntry, 'action' | 'after'> {
  /** The first part of the operation's name, such as `codes`. */
  area: string
  /** What names the item in the request, whatever it is. */
  id?: unknown
  /** The principal, if many of its equal denials share a record. */
  summedBy?: string
}

/** The equal denials in a minute that get a record each. The others share one. */
const maxEqual = 10
const minuteMilliseconds = 60_000

/**
 * Writes the audit record of a denied request before the response. HEAD has no effect, so it leaves none.
 * @returns the error for the response: that of the table (DEPENDENCY.*) if the record cannot be written
 */
export async function auditDenial(thrown: unknown, context: RequestContext): Promise<unknown> {
  if (context.request.method === 'HEAD') return thrown instanceof Denial ? thrown.failure : thrown
  return writeDenial(thrown, () => deniedAttempt(context), context).catch((fault: unknown) => fault)
}

/**
 * Writes the audit record of a denial, if the error is one and the caller is known.
 * @param attemptOf describes the denied action; called only for a denial
 * @returns the error for the response
 * @throws DEPENDENCY.* when the record cannot be written
 */
export async function writeDenial(
  thrown: unknown,
  attemptOf: () => Attempt,
  { caller, correlation, table, clock }: CommitContext,
): Promise<unknown> {
  const error = thrown instanceof Denial ? thrown.failure : thrown
  const reason = thrown instanceof Denial ? thrown.reason : deniedCode(thrown)
  if (!caller || !reason) return error
  const { area, id, summedBy, ...attempt } = attemptOf()
  if (summedBy !== undefined) {
    const equal = ['denials', caller.tenant, summedBy, attempt.action, reason]
    const counter = { subject: equal, limit: maxEqual, windowSeconds: minuteMilliseconds / 1000 }
    if (!(await hasRoom(counter, table, clock))) {
      const entry = { action: attempt.action, target: area, result: 'deny' as const, reason }
      await table.update(summed(auditItem(caller, entry, correlation.id, clock), equal, clock))
      return error
    }
  }
  const target =
    thrown instanceof Denial ? thrown.target : await ownTarget({ area, id, tenant: caller.tenant }, table)
  const entry = { ...attempt, target, result: 'deny' as const, reason }
  await table.put({ item: auditItem(caller, entry, correlation.id, clock), condition: { absent: true } })
  return error
}

/** Returns the change that counts a denial in the record of its minute. */
function summed({ pk, sk: _, ...record }: Item, equal: readonly string[], clock: Clock): Update {
  const minute = Math.floor(clock.now() / minuteMilliseconds) * minuteMilliseconds
  const update = { pk, sk: derivedIdAt(minute, JSON.stringify(equal)) }
  return { update, set: record, increment: ['count'], condition: 'none' }
}

function deniedCode(thrown: unknown): string | undefined {
  return thrown instanceof Failure && /^(AUTHZ|POLICY)\./.test(thrown.code) ? thrown.code : undefined
}

/** Describes a denied request for the audit from the request itself. */
function deniedAttempt({ endpoint, request, settings, caller }: RequestContext): Attempt {
  const { operation, action = operation } = endpoint.route
  return {
    action,
    area: areaOf(endpoint.route),
    id: Object.values(request.params)[0],
    ...(sumsDenials(endpoint.route) && { summedBy: principalOf(caller) }),
    ...auditedFields(endpoint.route, request, settings),
  }
}

/** Stores nothing of an invalid body, because it may hold anything. */
function auditedFields(route: Route, request: HttpRequest, settings: Settings): Pick<Attempt, 'after'> {
  const { body, auditedFields: names } = route
  if (!body || !names) return {}
  try {
    const fields = parseBody(request, { ...route, body }, settings) as Record<string, unknown>
    return { after: Object.fromEntries(names.map((name) => [name, fields[name]])) }
  } catch {
    return {}
  }
}

/**
 * Returns `code/<id>` for the area `codes` if the caller's tenant has the item, else the area. Many requests are denied
 * before their item is read, and the audit of a tenant holds no id of another tenant.
 */
async function ownTarget(
  { area, id, tenant }: Pick<Attempt, 'area' | 'id'> & { tenant: string },
  table: Table,
): Promise<string> {
  const entity = area.replace(/s$/, '')
  if (typeof id !== 'string' || !isId(id) || !isEntity(entity)) return area
  const isOwn = (await table.get(keyOf(tenant, entity, id))) !== undefined
  return isOwn ? `${entity}/${id}` : area
}
