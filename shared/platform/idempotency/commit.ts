import { type Clock, newId, timestamp } from '../base/clock.ts'
import type { Correlation } from '../base/correlation.ts'
import { fail } from '../base/failure.ts'
import type { Outbox } from '../events/outbox.ts'
import type { Actor } from '../identity/caller.ts'
import { type Item, keyOf } from '../table/keys.ts'
import type { Change, Put, Table } from '../table/table.ts'
import type { Effects } from './effects.ts'

/** The dependencies of a commit. */
export interface CommitContext {
  table: Table
  clock: Clock
  /** The actor in audit records that name none. */
  caller: Actor | undefined
  correlation: Correlation
}

/** The changes that the platform commits with a decision. */
interface PlatformChanges {
  /** A put that makes the decision take effect once: if its condition fails, the existing item is returned. */
  guard?: Put
  others?: readonly Change[]
}

/**
 * The maximum number of decisions of a request, unless its budget ends it earlier. When several requests change one
 * item at once, all but one decide again each time.
 */
const maxDecisions = 20
const firstDelayMilliseconds = 10
const maxDelayMilliseconds = 200

/**
 * Commits the effects of a decision and the changes of the platform, such as its idempotency record, in one
 * transaction.
 * @param changesOf returns the changes of the platform for a decision
 * @returns the committed decision; or the existing item if the guard of another request was first
 * @throws the error of the first write whose condition failed, unless the decision handles it
 */
export async function commit<Decision extends Effects<Decision>>(
  context: CommitContext,
  decision: Decision,
  changesOf: (decision: Decision) => PlatformChanges = () => ({}),
): Promise<{ committed: Decision } | { existing: Item }> {
  let current = decision
  for (let count = 1; ; count += 1) {
    const { guard, others = [] } = changesOf(current)
    const changes = [...(guard ? [guard] : []), ...changesOfEffects(context, current), ...others]
    const refusal = changes.length > 0 ? await context.table.transact(changes) : undefined
    if (!refusal) return { committed: current }
    if (guard && refusal.index === 0) {
      if (!refusal.existing) throw fail('TRANSIENT.error')
      return { existing: refusal.existing }
    }
    const write = current.writes?.[refusal.index - (guard ? 1 : 0)]
    if (!write || !current.onConflict || count === maxDecisions) {
      throw fail(write?.onFailure ?? 'INTERNAL.unexpected')
    }
    // The first failure reveals what a decision did not know. Only later ones are contention, which a pause spreads.
    if (count > 1) await context.clock.sleep(context.clock.jitter() * delayAfter(count))
    current = await current.onConflict(refusal.existing)
  }
}

function delayAfter(count: number): number {
  return Math.min(maxDelayMilliseconds, firstDelayMilliseconds * 2 ** count)
}

function changesOfEffects(context: CommitContext, { writes = [], events = [], audit }: Effects): Change[] {
  const changes: Change[] = writes.map(({ onFailure: _, ...change }) => change)
  if (events.length > 0) {
    const first = writes[0]
    if (!first || !('item' in first)) throw new Error('events are carried by a put, the first of the writes')
    const outbox = outboxOf(context, events)
    changes[0] = { item: { ...first.item, outbox }, condition: first.condition }
  }
  return [...changes, ...(audit ? [auditPut(context, audit)] : [])]
}

function outboxOf({ clock, correlation }: CommitContext, events: Outbox['events']): Outbox {
  return {
    id: newId(clock),
    occurred_at: timestamp(clock.now()),
    correlation_id: correlation.id,
    ...correlation.trace,
    events,
  }
}

function auditPut(
  { caller, correlation, clock }: CommitContext,
  { actor = caller, ...entry }: AuditEntry,
): Put {
  if (!actor) throw new Error('an audited action has an actor')
  const item = auditItem(actor, { result: 'allow', reason: 'allowed', ...entry }, correlation.id, clock)
  return { item, condition: { absent: true } }
}

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
  const issuer = actor.claims?.iss
  const record: AuditRecord = {
    actor_id: actor.sub,
    role: actor.role ?? 'none',
    token_sub: actor.apiKey === undefined ? actor.sub : `api-key:${actor.apiKey}`,
    ...(typeof issuer === 'string' && { issuer }),
    tenant_id: tenant,
    correlation_id: correlationId,
    at: timestamp(clock.now()),
    ...entry,
  }
  return { ...keyOf(tenant, 'audit', id), ...record }
}
