import { firstIdAt, largestId, lastIdAt, smallestId } from '#shared/platform/base/clock.ts'
import { readAll } from '#shared/platform/listing/merge.ts'
import { keyOf, partitionsOf } from '#shared/platform/table/keys.ts'
import type { Table } from '#shared/platform/table/table.ts'
import {
  asDelivery,
  type Delivery,
  type DeliveryState,
  skipDelivery,
  waitingRange,
} from '#shared/subscribers/delivery.ts'
import type { SubscriberRef } from '#shared/subscribers/subscriber.ts'
import type { Window } from '../replay.ts'
import type { SubscriberOperator } from './subscriber-operator.ts'

/** The last time that an id can hold, in milliseconds since 1970. */
const latestTime = 2 ** 48 - 1

/** What a list shows of a delivery: everything but its body, which holds the data of the event. */
interface DeliveryLine extends Pick<Delivery, 'event_id' | 'type' | 'state' | 'attempts'> {
  id: string
  attempted: number
  /** The status of the latest attempt, or the reason of its failure. */
  latest: string
  next_at?: string
}

interface Selection extends Partial<Window> {
  states?: readonly DeliveryState[]
}

/** Yields the recorded deliveries of a subscriber, in the order of their events. `to` is exclusive. */
export async function* deliveriesOf(
  table: Table,
  { tenant, subscriber }: SubscriberRef,
  { from, to, states }: Selection = {},
): AsyncGenerator<Delivery> {
  const low = from ? firstIdAt(from.getTime()) : smallestId
  const high = to ? lastIdAt(to.getTime() - 1) : largestId
  const range = { low, high, descending: false, atOnce: 500 }
  for await (const items of readAll(table, partitionsOf(tenant, 'delivery'), range))
    for (const delivery of items.map(asDelivery))
      if (delivery.subscriber_id === subscriber && (states?.includes(delivery.state) ?? true)) yield delivery
}

export async function* listDeliveries(
  table: Table,
  ref: SubscriberRef,
  selection: Selection,
): AsyncGenerator<DeliveryLine> {
  for await (const delivery of deliveriesOf(table, ref, selection)) yield deliveryLine(delivery)
}

/** Drops the held deliveries of a subscriber that is paused or disabled. @returns how many */
export async function skipHeld(operator: SubscriberOperator, ref: SubscriberRef): Promise<number> {
  const { table } = operator
  let skipped = 0
  for (let range = waitingRange(ref, latestTime, 100), last = ''; ; ) {
    const { items, exhausted } = await table.readRange(range)
    // The range includes the last item of the page before.
    const entries = items.filter(({ sk }) => sk !== last)
    const keys = entries.map(({ delivery }) => keyOf(ref.tenant, 'delivery', String(delivery)))
    const deliveries = keys.length > 0 ? (await table.getMany(keys)).map(asDelivery) : []
    for (const delivery of deliveries)
      if (delivery.state === 'held' && !(await table.transact(skipDelivery(ref.tenant, delivery))))
        skipped += 1
    if (exhausted) return skipped
    last = String(items.at(-1)?.sk)
    range = { ...range, low: last }
  }
}

function deliveryLine({
  sk: id,
  event_id,
  type,
  state,
  attempted,
  attempts,
  next_at,
}: Delivery): DeliveryLine {
  const { status, reason } = attempts.at(-1) ?? {}
  const latest = String(status ?? reason ?? '')
  const next =
    next_at !== undefined && state === 'waiting' ? { next_at: new Date(next_at).toISOString() } : {}
  return { id, event_id, type, state, attempted, latest, ...next, attempts }
}
