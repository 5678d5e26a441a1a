import { auditPut } from '../audit/record.ts'
import { derivedId, isId } from '../base/clock.ts'
import { fail } from '../base/failure.ts'
import type { Outbox, OutgoingEvent, StoredCommit, StoredEvent } from '../events/outbox.ts'
import type { Item, Key } from '../table/keys.ts'
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

/** Returns a written item with its events. */
function withEvents(
  { item, condition }: Put,
  events: readonly OutgoingEvent[],
  { clock, correlation }: Pick<Run, 'clock' | 'correlation'>,
): Item {
  const commit: StoredCommit = {
    at: clock.now(),
    correlation_id: correlation.id,
    ...correlation.trace,
    events: events.map((event) => storedEvent(event, item)),
  }
  if (condition !== 'none' && 'absent' in condition && isCreatedOnce(item)) return { ...item, outbox: commit }
  const id = Buffer.from(clock.randomBytes(6)).toString('base64url')
  return { ...item, outbox: { ...commit, id, ...historyOf(item.outbox as Outbox | undefined) } }
}

/** Returns whether no later item can have the key of this one: a key with an id is not used again, one of names is. */
function isCreatedOnce({ pk, sk }: Key): boolean {
  return isId(sk) || isId(pk.slice(pk.lastIndexOf('#') + 1))
}

/** Returns an event without what its item holds. */
function storedEvent({ name, held, data, once }: OutgoingEvent, item: Item): StoredEvent {
  const own = once === undefined ? {} : { id: derivedId(`${name}|${data.tenant_id}|${once}`) }
  if (!held) return { name, ...own, data }
  const isHeld = (field: string) => held[field] !== undefined && item[held[field]] === data[field]
  const rest = Object.fromEntries(Object.entries(data).filter(([field]) => !isHeld(field)))
  if (Object.keys(rest).length > 0) return { name, ...own, rest }
  return once === undefined ? name : { name, ...own }
}

/** The maximum number of times of replaced events that an item keeps. */
export const maxReplaced = 10

/** Returns what a change keeps of the events before it. */
function historyOf(before: Outbox | undefined): Pick<Outbox, 'creation' | 'replaced'> {
  if (!before) return {}
  const { id, creation, replaced = [], ...latest } = before
  if (id === undefined) return { creation: latest }
  return { ...(creation && { creation }), replaced: [...replaced, latest.at].slice(-maxReplaced) }
}
