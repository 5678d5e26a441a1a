import type { Actor } from '../auth/caller.ts'
import { type Clock, newId, timestamp } from '../clock.ts'
import { type Item, keyOf } from '../table/keys.ts'

/** What a sensitive action adds to its own transaction. */
export interface AuditEntry {
  action: string
  /** The kind of resource and, in the caller's reach, its id: `order/…`. */
  target: string
  /** What changed, without free text and other secrets. */
  before?: Record<string, unknown>
  after?: Record<string, unknown>
  /** The reason that the caller gave, where one is asked for; the error code of a denial. */
  reason?: string
  /** The tenant that the action worked in; the record lies there. The actor's own unless given. */
  tenant?: string
  /** `deny` where the committed outcome is a refusal. `allow` unless given. */
  result?: AuditRecord['result']
  /** Who asked for it, where that is not the caller of the request: an intent is also finished without its request. */
  actor?: Actor
}

/** An audit record (contract, 'Audit record'). Denials lie in the tenant of the actor, and name no other. */
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
