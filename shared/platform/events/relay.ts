import type { Item } from '../table/keys.ts'
import { type PublishedEvent, publishedEvents } from './outbox.ts'

/** What the relay needs of a change in the table. */
export interface Change {
  sequenceNumber: string
  before: Item | undefined
  after: Item | undefined
}

/** Publishes at most ten events at once and tells which of them failed, in order. */
export type Publish = (events: readonly PublishedEvent[]) => Promise<boolean[]>

export interface Relayed {
  published: number
  /** The first change whose events are not all published: the stream delivers again from there. */
  failedFrom: string | undefined
  fault: unknown
}

/** The most entries of one PutEvents call. */
const batchSize = 10

/** Publishes the events of changes in their order, up to the first that fails. Publishing one twice is harmless. */
export async function relay(changes: readonly Change[], publish: Publish): Promise<Relayed> {
  const outgoing = changes.flatMap((change) => newEvents(change).map((event) => ({ event, change })))
  let published = 0
  for (const batch of batchesOf(outgoing)) {
    let failed: boolean[]
    let fault: unknown
    try {
      failed = await publish(batch.map(({ event }) => event))
    } catch (thrown) {
      failed = batch.map(() => true)
      fault = thrown
    }
    published += failed.filter((one) => !one).length
    const first = failed.indexOf(true)
    if (first >= 0) return { published, failedFrom: batch[first]?.change.sequenceNumber, fault }
  }
  return { published, failedFrom: undefined, fault: undefined }
}

interface Outgoing {
  event: PublishedEvent
  change: Change
}

/**
 * At most ten events each, and of one item only one change: the entries of a call fail one by one, and a later
 * change would overtake the one that failed.
 */
function batchesOf(outgoing: readonly Outgoing[]): Outgoing[][] {
  const batches: Outgoing[][] = []
  let changes = new Map<string, Change>()
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

/** The events of a change that its earlier state did not carry already. */
function newEvents({ before, after }: Change): PublishedEvent[] {
  if (!after) return []
  const known = new Set(before ? publishedEvents(before).map(({ event_id }) => event_id) : [])
  return publishedEvents(after).filter(({ event_id }) => !known.has(event_id))
}
