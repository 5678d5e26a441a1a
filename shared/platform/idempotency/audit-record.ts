import { type Clock, newId, timestamp } from '../base/clock.ts'
import type { Actor } from '../identity/caller.ts'
import { type Item, keyOf } from '../table/keys.ts'

/** The audit data that a sensitive action adds to its transaction. */
export interface AuditEntry {
  action: string
  /** The kind of resource and, if the caller may access it, its id: `order/…`. */
  target: string
  /** The changed values, without free text and secrets. */
  before?: Record<string, unknown>
  after?: Record<string, unknown>
  /** The caller's reason, if the action requires one; the error code of a denial. */
  reason?: string
  /** The tenant of the action, in which the record is stored. Defaults to the actor's tenant. */
  tenant?: string
  /** `deny` if the committed outcome is a rejection. Defaults to `allow`. */
  result?: AuditRecord['result']
  /** The requester, if not the caller of this request: pending operations also finish without their request. */
  actor?: Actor
}

/** An audit record. A denial is stored in the tenant of the actor and names no other tenant. */
export interface AuditRecord extends Omit<AuditEntry, 'tenant' | 'actor'> {
  actor_id: string
  role: string
  token_sub: string
  tenant_id: string
  result: 'allow' | 'deny'
  reason: string
  correlation_id: string
  at: string
}

export function auditItem(
  actor: Actor,
  {
    tenant = actor.tenant,
    ...entry
  }: Omit<AuditEntry, 'actor'> & { result: AuditRecord['result']; reason: string },
  correlationId: string,
  clock: Clock,
): Item {
  const id = newId(clock)
  const record: AuditRecord = {
    actor_id: actor.sub,
    role: actor.role ?? 'none',
    token_sub: actor.sub,
    tenant_id: tenant,
    correlation_id: correlationId,
    at: timestamp(clock.now()),
    ...entry,
  }
  return { ...keyOf(tenant, 'audit', id), ...record }
}
