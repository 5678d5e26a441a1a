import { type Item, ownerOf } from '../table/keys.ts'
import { type PublishedEvent, publishedEvents } from './outbox.ts'

/** A change of an item, as the table's stream delivers it. */
export interface StreamChange {
  sequenceNumber: string
  before: Item | undefined
  after: Item | undefined
}

/** Publishes at most ten events and returns, in order, whether each of them failed. */
export type Publish = (events: readonly PublishedEvent[]) => Promise<boolean[]>

/** The kinds of items that may carry each type of event. */
export type Carriers = ReadonlyMap<string, ReadonlySet<string>>

/** An event on an item that may not carry it. */
interface RefusedEvent {
  type: string
  /** The kind of the item. */
  kind: string
  correlation_id: string
}

/** The dependencies of the relay. */
interface RelayTargets {
  /** The types that this release knows. */
  carriers: Carriers
  publish: Publish
  /** Moves a change to the dead letters, for a later release to publish. */
  setAside(sequenceNumber: string, reason: string): Promise<void>
}

interface Relayed {
  published: number
  refused: RefusedEvent[]
  /** Changes with an event that this release does not know, now among the dead letters. */
  setAside: number
  /** The first change with unpublished events, from which the stream redelivers. */
  failedFrom: string | undefined
  fault: unknown
}

/** The maximum number of entries of one PutEvents call. */
const batchSize = 10

/**
 * Publishes the events of changes in order, up to the first failure of the bus or of the dead letters. Publishing an event twice is harmless. An
 * event publishes itself, in each version of a type that the release knows. No event stops the stream: one on an item that
 * may not carry it is refused, and a change with one that the release does not know or cannot build is set aside.
 */
export async function relay(
  changes: readonly StreamChange[],
  { carriers, publish, setAside }: RelayTargets,
): Promise<Relayed> {
  const judged = changes.map((change) => ({ change, ...judge(change, carriers) }))
  const refused = judged.flatMap((one) => one.refused)
  const unknown = judged.flatMap(({ change, unknown: reason }) =>
    reason === undefined ? [] : [{ change, reason }],
  )
  const result = { published: 0, refused, setAside: 0 }
  let failure: { failedFrom: string | undefined; fault: unknown } = {
    failedFrom: undefined,
    fault: undefined,
  }
  let last = changes.length
  for (const { change, reason } of unknown) {
    try {
      await setAside(change.sequenceNumber, reason)
      result.setAside += 1
    } catch (fault) {
      failure = { failedFrom: change.sequenceNumber, fault }
      last = changes.indexOf(change)
      break
    }
  }
  const outgoing = judged
    .slice(0, last)
    .flatMap(({ change, allowed }) => allowed.map((event) => ({ event, change })))
  for (const batch of batchesOfItems(outgoing)) {
    let failed: boolean[]
    let fault: unknown
    try {
      failed = await publish(batch.map(({ event }) => event))
    } catch (thrown) {
      failed = batch.map(() => true)
      fault = thrown
    }
    result.published += failed.filter((one) => !one).length
    const first = failed.indexOf(true)
    if (first >= 0) return { ...result, failedFrom: batch[first]?.change.sequenceNumber, fault }
  }
  return { ...result, ...failure }
}

/** The events of a change, by what the relay does with them. */
interface Judged {
  allowed: PublishedEvent[]
  refused: RefusedEvent[]
  /** Why the change is set aside; absent if it is not. */
  unknown?: string
}

/** Sorts the events of a change by whether an item of its kind may carry them. */
export function judge({ before, after }: Pick<StreamChange, 'before' | 'after'>, carriers: Carriers): Judged {
  const judged: Judged = { allowed: [], refused: [] }
  if (!after) return judged
  const { kind } = ownerOf(after.pk)
  try {
    for (const event of publishedEvents(after, before)) {
      const { type, version, correlation_id } = event
      const allowed = carriers.get(type)
      if (!allowed) judged.unknown = `this release does not know ${type}.v${version}`
      else if (allowed.has(kind)) judged.allowed.push(event)
      else judged.refused.push({ type, kind, correlation_id })
    }
  } catch (fault) {
    // An item that a function may write must not stop its shard.
    return { ...judged, unknown: (fault as Error).message }
  }
  return judged
}

interface Outgoing {
  event: PublishedEvent
  change: StreamChange
}

/**
 * Returns batches of at most ten events, with only one change per item: entries of a call fail individually, so a later
 * change could overtake a failed one.
 */
function batchesOfItems(outgoing: readonly Outgoing[]): Outgoing[][] {
  const batches: Outgoing[][] = []
  let changes = new Map<string, StreamChange>()
  for (const one of outgoing) {
    const item = `${one.change.after?.pk}|${one.change.after?.sk}`
    const batch = batches.at(-1)
    const fits = batch && batch.length < batchSize && (changes.get(item) ?? one.change) === one.change
    if (fits) batch.push(one)
    else {
      batches.push([one])
      changes = new Map()
    }
    changes.set(item, one.change)
  }
  return batches
}
