import { auditPut } from '../audit/record.ts'
import { type Clock, derivedId, isId } from '../base/clock.ts'
import type { Correlation } from '../base/correlation.ts'
import { fail } from '../base/failure.ts'
import type { Outbox, OutgoingEvent, StoredCommit, StoredEvent } from '../events/outbox.ts'
import type { Actor } from '../identity/caller.ts'
import type { Item, Key } from '../table/keys.ts'
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

/** Returns a written item with its events. */
function withEvents(
  { item, condition }: Put,
  events: readonly OutgoingEvent[],
  { clock, correlation }: CommitContext,
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
