import type { DynamoDBRecord } from 'aws-lambda'
import { eventCarriers } from '#functions/events.ts'
import { itemInImage } from '#shared/platform/aws/stream-function.ts'
import { timestamp } from '#shared/platform/base/clock.ts'
import { isTaskQueue, maxReplaced, type Outbox } from '#shared/platform/events/outbox.ts'
import { judge } from '#shared/platform/events/relay.ts'
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
      '#outbox.#at >= :from AND (#outbox.#at <= :to OR attribute_exists(#outbox.#first) OR attribute_exists(#outbox.#replaced))',
    ExpressionAttributeNames: {
      '#outbox': 'outbox',
      '#at': 'at',
      '#first': 'first',
      '#replaced': 'replaced',
    },
    ExpressionAttributeValues: { ':from': from, ':to': to },
  }
}

/**
 * Separates the changes whose events this release knows. Only these are published: what an item no longer has is named.
 * @param period leaves out items without events of a period, and finds events that later changes or an erasure removed
 */
export function rebuilt(records: readonly DynamoDBRecord[], period?: Period): Rebuilt {
  const found: Rebuilt = { records: [], lost: [] }
  for (const record of records) {
    const [before, after] = [itemInImage(record.dynamodb?.OldImage), itemInImage(record.dynamodb?.NewImage)]
    if (!after) continue
    const outbox = after.outbox as Outbox
    const lost = period ? lostIn(outbox, period) : []
    if (!period || isIn(period, outbox.at) || isIn(period, outbox.first?.at)) {
      const { unknown } = judge({ before, after }, eventCarriers)
      if (unknown === undefined) found.records.push(record)
      else lost.push(unknown)
    }
    found.lost.push(...lost.map((reason) => `${after.pk} ${after.sk}: ${reason}`))
  }
  return found
}

/** Separates the changes whose tasks are for a queue that this release knows. */
export function knownTasks(records: readonly DynamoDBRecord[]): Rebuilt {
  const found: Rebuilt = { records: [], lost: [] }
  for (const record of records) {
    const { pk, sk, task } = record.dynamodb?.NewImage ?? {}
    const { S: queue = '' } = task?.M?.queue ?? {}
    if (isTaskQueue(queue)) found.records.push(record)
    else found.lost.push(`${pk?.S} ${sk?.S}: this release does not know the queue ${queue}`)
  }
  return found
}

/**
 * Returns what an erased item keeps of its events: their times, so a redrive can name the events that it cannot rebuild.
 */
export function erasedEvents({ outbox }: Item): Pick<Outbox, 'at' | 'events' | 'replaced'> | undefined {
  if (!outbox) return undefined
  const { at, first, replaced = [] } = outbox as Outbox
  const times = [...(first ? [first.at] : []), ...replaced, at]
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
