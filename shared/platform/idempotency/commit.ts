import { auditPut } from '../audit/record.ts'
import type { Clock } from '../base/clock.ts'
import type { Correlation } from '../base/correlation.ts'
import { fail } from '../base/failure.ts'
import { withEvents } from '../events/outbox.ts'
import type { Actor } from '../identity/caller.ts'
import type { Item } from '../table/keys.ts'
import type { Change, Put, Table } from '../table/table.ts'
import type { Effects } from './decision.ts'

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
    // A check is of an item that no decision depends on: another decision would fail as well.
    if (!write || 'check' in write || !current.onConflict || count === maxDecisions) {
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
    changes[0] = { item: withEvents(first, events, context), condition: first.condition }
  }
  if (!audit) return changes
  const { actor = context.caller, ...entry } = audit
  if (!actor) throw new Error('an audited action has an actor')
  return [...changes, auditPut(actor, entry, context)]
}
