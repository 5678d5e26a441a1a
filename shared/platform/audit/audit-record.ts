import { type Clock, newId, timestamp } from '../base/clock.ts'
import type { Correlation } from '../base/correlation.ts'
import type { Actor } from '../identity/caller.ts'
import { type Item, keyOf, maxShards } from '../table/keys.ts'
import type { Put } from '../table/table.ts'

/** A sensitive action, as its transaction audits it. */
export interface AuditedAction {
  action: string
  /** The kind of resource and, if the caller may access it, its id: `order/…`. */
  target: string
  /** The changed values, without free text and secrets. */
  before?: Record<string, unknown>
  after?: Record<string, unknown>
  /** The caller's reason, if the action requires one; the error code of a denial. */
  reason?: string
  /** The tenant of the action, in which the audit record is stored. Defaults to the actor's tenant. */
  tenant?: string
  /** `deny` if the committed outcome is a rejection. Defaults to `allow`. */
  result?: AuditRecord['result']
  /** The requester, if not the caller of this request: pending operations also finish without their request. */
  actor?: Actor
}

/** An audit record. A denial is stored in the tenant of the actor and names no other tenant. */
export interface AuditRecord extends Omit<AuditedAction, 'tenant' | 'actor'> {
  /** The principal. It stays the same when an API key is rotated. */
  actor_id: string
  role: string
  /** The subject of the credential: `api-key:<key_id>` names the API key that was used. */
  token_sub: string
  /** The issuer of the credential: a subject is unique per issuer only. Absent if nobody sent one. */
  issuer?: string
  tenant_id: string
  result: 'allow' | 'deny'
  reason: string
  correlation_id: string
  at: string
  /** The number of equal denials that the record stands for; absent for one. */
  count?: number
}

/** The origin of audit records. */
export interface AuditSource {
  correlation: Pick<Correlation, 'id'>
  clock: Clock
}

/** Returns the write of an audit record. The result is `allow` unless the action names another. */
export function auditPut(actor: Actor, audited: AuditedAction, source: AuditSource): Put {
  return { item: auditItem(actor, audited, source), condition: { absent: true } }
}

export function auditItem(
  actor: Actor,
  { tenant = actor.tenant, actor: _, ...audited }: AuditedAction,
  { correlation, clock }: AuditSource,
): Item {
  const id = newId(clock, maxShards)
  const issuer = actor.claims?.iss
  const record: AuditRecord = {
    actor_id: actor.sub,
    role: actor.role ?? 'none',
    token_sub: actor.apiKey === undefined ? actor.sub : `api-key:${actor.apiKey}`,
    ...(typeof issuer === 'string' && { issuer }),
    tenant_id: tenant,
    correlation_id: correlation.id,
    at: timestamp(clock.now()),
    result: 'allow',
    reason: 'allowed',
    ...audited,
  }
  return { ...keyOf(tenant, 'audit', id), ...record }
}
