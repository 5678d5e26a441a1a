import { auditPut } from '../audit/audit-record.ts'
import { fail } from '../base/failure.ts'
import { withEvents } from '../events/outbox.ts'
import type { Item } from '../table/keys.ts'
import type { Change, Put, Write } from '../table/table.ts'
import type { Effects, Run } from './decision.ts'

/** The changes that the platform commits with a decision. */
export interface PlatformChanges {
  /** A put that makes the decision take effect once. */
  guard?: Put
  others?: readonly Change[]
}

/** Why nothing was committed: the guard of another run was first, or the condition of a write failed. */
type Conflict = { guarded: Item } | { write: Write; existing: Item | undefined }

/**
 * Commits effects and the changes of the platform, such as the idempotency record, in one transaction.
 * @returns undefined if they are committed
 * @throws TRANSIENT.error if the guard expected an item that is gone; INTERNAL.unexpected if the condition of another
 * change of the platform failed
 */
export async function commit(
  context: Pick<Run, 'table' | 'clock' | 'caller' | 'correlation'>,
  effects: Effects,
  { guard, others = [] }: PlatformChanges = {},
): Promise<Conflict | undefined> {
  const guards = guard ? [guard] : []
  const changes = [...guards, ...changesOfEffects(context, effects), ...others]
  const refusal = changes.length > 0 ? await context.table.transact(changes) : undefined
  if (!refusal) return undefined
  const { index, existing } = refusal
  if (index < guards.length) {
    if (!existing) throw fail('TRANSIENT.error')
    return { guarded: existing }
  }
  const write = effects.writes?.[index - guards.length]
  if (!write) throw fail('INTERNAL.unexpected')
  return { write, existing }
}

function changesOfEffects(
  context: Pick<Run, 'clock' | 'caller' | 'correlation'>,
  { writes = [], events = [], audit }: Effects,
): Change[] {
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
