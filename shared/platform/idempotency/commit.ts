import { type Clock, newId, timestamp } from '../base/clock.ts'
import type { Correlation } from '../base/correlation.ts'
import { fail } from '../base/failure.ts'
import type { Outbox } from '../events/outbox.ts'
import type { Caller } from '../identity/caller.ts'
import type { Effects } from '../request/reply.ts'
import type { Item } from '../table/keys.ts'
import type { Change, Put, Table } from '../table/table.ts'
import { type AuditEntry, auditItem } from './audit-record.ts'

/** The dependencies of a commit. */
export interface Committer {
  table: Table
  clock: Clock
  caller: Caller | undefined
  correlation: Correlation
}

/**
 * The maximum number of decisions of a request, unless its budget ends it earlier. When several requests change one
 * item at once, all but one decide again each time.
 */
const mostDecisions = 20
const firstDelayMilliseconds = 10
const longestDelayMilliseconds = 200

/**
 * Commits the effects of a decision and, with a key, its idempotency record: all in one transaction.
 * @param prepare renders each decision, because its response must be valid before anything is written; it may add the
 * record and further changes of the platform
 * @returns the prepared form of the committed decision; or the existing record if another request with this key was
 * first
 * @throws the error of the first write whose condition failed, unless the decision handles it
 */
export async function commit<Decision extends Effects, Ready extends object>(
  committer: Committer,
  decision: Decision,
  prepare: (decision: Decision) => Ready & { record?: Put; along?: readonly Change[] },
): Promise<{ prepared: Ready } | { existing: Item }> {
  let current = decision
  for (let taken = 1; ; taken += 1) {
    const prepared = prepare(current)
    const { record, along = [] } = prepared
    const changes = [...changesOf(committer, current, record), ...along]
    const refusal = changes.length > 0 ? await committer.table.transact(changes) : undefined
    if (!refusal) return { prepared }
    if (record && refusal.index === 0) {
      if (!refusal.existing) throw fail('TRANSIENT.error')
      return { existing: refusal.existing }
    }
    const write = current.writes?.[refusal.index - (record ? 1 : 0)]
    if (!write || !current.onConflict || taken === mostDecisions) {
      throw fail(write?.onFailure ?? 'INTERNAL.unexpected')
    }
    // The first failure reveals what a decision did not know. Only later ones are contention, which a pause spreads.
    if (taken > 1) await committer.clock.sleep(committer.clock.jitter() * delayAfter(taken))
    current = (await current.onConflict(refusal.existing)) as Effects as Decision
  }
}

function delayAfter(taken: number): number {
  return Math.min(longestDelayMilliseconds, firstDelayMilliseconds * 2 ** taken)
}

/** Puts the record first, so that its failure is reported before any other. */
function changesOf(
  committer: Committer,
  { writes = [], events = [], audit }: Effects,
  record: Put | undefined,
): Change[] {
  const changes: Change[] = writes.map(({ onFailure: _, ...change }) => change)
  if (events.length > 0) {
    const first = writes[0]
    if (!first || !('item' in first)) throw new Error('events are carried by a put, the first of the writes')
    const outbox = outboxOf(committer, events)
    changes[0] = { item: { ...first.item, outbox }, condition: first.condition }
  }
  return [...(record ? [record] : []), ...changes, ...(audit ? [auditPut(committer, audit)] : [])]
}

function outboxOf({ clock, correlation }: Committer, events: Outbox['events']): Outbox {
  return {
    id: newId(clock),
    occurred_at: timestamp(clock.now()),
    correlation_id: correlation.id,
    ...correlation.trace,
    events,
  }
}

function auditPut({ caller, correlation, clock }: Committer, { actor = caller, ...entry }: AuditEntry): Put {
  if (!actor) throw new Error('an audited action has an actor')
  const item = auditItem(actor, { result: 'allow', reason: 'allowed', ...entry }, correlation.id, clock)
  return { item, condition: { absent: true } }
}
