import type { Item } from '../table/keys.ts'
import { type EventForm, type PublishedEvent, publishedEvents } from './outbox.ts'

/** A change of an item, as the table's stream delivers it. */
export interface StreamChange {
  sequenceNumber: string
  before: Item | undefined
  after: Item | undefined
}

/** Publishes at most ten events and returns, in order, whether each of them failed. */
export type Publish = (events: readonly PublishedEvent[]) => Promise<boolean[]>

interface Relayed {
  published: number
  /** The first change with unpublished events, from which the stream redelivers. */
  failedFrom: string | undefined
  fault: unknown
}

/** The maximum number of entries of one PutEvents call. */
const batchSize = 10

/**
 * Publishes the events of changes in order, up to the first failure. Publishing an event twice is harmless. A change whose
 * events cannot be built is a failure too: it is never skipped, and ends among the dead letters.
 * @param forms the events of this release
 */
export async function relay(
  changes: readonly StreamChange[],
  forms: readonly EventForm[],
  publish: Publish,
): Promise<Relayed> {
  const { outgoing, ...unbuilt } = outgoingOf(changes, forms)
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
  return { published, ...unbuilt }
}

/** Returns the events of changes, up to the first change whose events cannot be built. */
function outgoingOf(
  changes: readonly StreamChange[],
  forms: readonly EventForm[],
): Omit<Relayed, 'published'> & { outgoing: Outgoing[] } {
  const outgoing: Outgoing[] = []
  for (const change of changes) {
    const { before, after, sequenceNumber: failedFrom } = change
    try {
      const events = after ? publishedEvents(after, forms, before) : []
      outgoing.push(...events.map((event) => ({ event, change })))
    } catch (fault) {
      return { outgoing, failedFrom, fault }
    }
  }
  return { outgoing, failedFrom: undefined, fault: undefined }
}

interface Outgoing {
  event: PublishedEvent
  change: StreamChange
}

/**
 * Returns batches of at most ten events, with only one change per item: entries of a call fail individually, so a later
 * change could overtake a failed one.
 */
function batchesOf(outgoing: readonly Outgoing[]): Outgoing[][] {
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
