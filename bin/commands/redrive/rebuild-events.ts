import type { DynamoDBRecord } from 'aws-lambda'
import { eventDefinitions } from '#functions/events.ts'
import { itemOf } from '#shared/platform/aws/stream-function.ts'
import { timestamp } from '#shared/platform/base/clock.ts'
import { type Outbox, publishedEvents } from '#shared/platform/events/outbox.ts'
import { maxReplaced } from '#shared/platform/idempotency/commit.ts'
import type { Item } from '#shared/platform/table/keys.ts'
import type { ItemFilter } from './table-changes.ts'

/** An inclusive time, in milliseconds since 1970. */
export interface Period {
  from: number
  to: number
}

/** Changes to handle again. */
export interface Rebuilt {
  records: DynamoDBRecord[]
  /** A sentence for each change whose events cannot be rebuilt. */
  lost: string[]
}

/** Returns a filter for items with events of a period. It selects more items rather than fewer. */
export function itemsWithEvents({ from, to }: Period): ItemFilter {
  return {
    FilterExpression:
      '#outbox.#at >= :from AND (#outbox.#at <= :to OR attribute_exists(#outbox.#creation) OR attribute_exists(#outbox.#replaced))',
    ExpressionAttributeNames: {
      '#outbox': 'outbox',
      '#at': 'at',
      '#creation': 'creation',
      '#replaced': 'replaced',
    },
    ExpressionAttributeValues: { ':from': from, ':to': to },
  }
}

/**
 * Separates the changes whose events this release can build.
 * @param period leaves out items without events of a period, and finds events that later changes or an erasure removed
 */
export function rebuilt(records: readonly DynamoDBRecord[], period?: Period): Rebuilt {
  const found: Rebuilt = { records: [], lost: [] }
  for (const record of records) {
    const [before, after] = [itemOf(record.dynamodb?.OldImage), itemOf(record.dynamodb?.NewImage)]
    if (!after) continue
    const outbox = after.outbox as Outbox
    const lost = period ? lostIn(outbox, period) : []
    if (!period || isIn(period, outbox.at) || isIn(period, outbox.creation?.at)) {
      try {
        publishedEvents(after, eventDefinitions, before)
        found.records.push(record)
      } catch (fault) {
        lost.push((fault as Error).message)
      }
    }
    found.lost.push(...lost.map((reason) => `${after.pk} ${after.sk}: ${reason}`))
  }
  return found
}

/**
 * Returns what an erased item keeps of its events: their times, so a redrive can name the events that it cannot rebuild.
 */
export function erasedEvents({ outbox }: Item): Pick<Outbox, 'at' | 'events' | 'replaced'> | undefined {
  if (!outbox) return undefined
  const { at, creation, replaced = [] } = outbox as Outbox
  const times = [...(creation ? [creation.at] : []), ...replaced, at]
  return { at, events: [], replaced: times.slice(-maxReplaced) }
}

/** Names the events of a period that their item has lost, whether or not they were published. */
function lostIn({ replaced = [] }: Outbox, period: Period): string[] {
  const [oldest = 0] = replaced
  const times = replaced.filter((at) => isIn(period, at))
  const isFull = replaced.length === maxReplaced && period.from < oldest
  return [
    ...(isFull ? [`events from before ${timestamp(oldest)} are not stored any more`] : []),
    ...times.map((at) => `the events of ${timestamp(at)} are not stored any more`),
  ]
}

function isIn({ from, to }: Period, at: number | undefined): boolean {
  return at !== undefined && from <= at && at <= to
}
