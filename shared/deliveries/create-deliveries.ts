import * as v from 'valibot'
import type { WorkContext } from '../platform/request/context.ts'
import { inParallel } from '../platform/table/table.ts'
import { type Subscriber, type SubscriberRef, subscribersOf, wants } from '../subscribers/subscriber.ts'
import { DeliveredEvent, type DeliveryMessage, deliveryId, newDelivery, waitingEntry } from './delivery.ts'
import { type SendMessages, sendToQueue } from './schedule-delivery.ts'

type Context = Pick<WorkContext, 'table' | 'clock' | 'settings' | 'isBlocked'>

/** An event as the bus delivers it. */
const BusEvent = v.object({ detail: DeliveredEvent })

/**
 * Queues the deliveries of events to the subscribers of their tenants. Those of a subscriber that is paused or disabled
 * are stored as suspended. An event that is worked on twice has the same deliveries.
 * @param bodies the messages of a batch, each an event of the bus
 * @returns the outcome of each
 */
export function createDeliveries(
  bodies: readonly string[],
  context: Context,
  send: SendMessages,
): Promise<void>[] {
  // Read once for each tenant of a batch, and never kept longer: a new subscriber gets the next event.
  const known = new Map<string, Promise<Subscriber[]>>()
  const subscribersIn = (tenant: string) => {
    const subscribers = known.get(tenant) ?? subscribersOf(context.table, tenant)
    known.set(tenant, subscribers)
    return subscribers
  }
  return bodies.map(async (body) => {
    const { detail: event } = v.parse(BusEvent, JSON.parse(body))
    const tenant = v.parse(v.string(), event.data.tenant_id)
    const asking = (await subscribersIn(tenant)).filter((one) => wants(one, event.type))
    if (asking.length === 0) return
    // The sender stores the deliveries of a blocked tenant, unless a purge has deleted the subscriber.
    const isBlocked = await context.isBlocked(tenant, context.table)
    const isQueued = ({ state }: Subscriber) => isBlocked || state === 'active'
    await sendToQueue(
      asking.filter(isQueued).map(({ id }) => messageOf({ tenant, subscriber: id }, event)),
      send,
    )
    await inParallel(
      asking.filter((one) => !isQueued(one)),
      ({ id }) => suspend({ tenant, subscriber: id }, event, context),
    )
  })
}

function messageOf(ref: SubscriberRef, event: DeliveredEvent): DeliveryMessage {
  return { ...ref, delivery: deliveryId(ref, event), attempt: 1, event }
}

/** Stores a delivery with its entry. A repeated run is refused, as the id of the delivery is derived. */
async function suspend(
  ref: SubscriberRef,
  event: DeliveredEvent,
  { table, clock, settings }: Context,
): Promise<void> {
  const delivery = newDelivery(ref, event, { state: 'suspended', now: clock.now(), settings })
  const entry = waitingEntry(ref, delivery, Date.parse(event.occurred_at), clock)
  await table.transact([
    { item: { ...delivery, waiting: entry.sk }, condition: { absent: true } },
    { item: entry, condition: 'none' },
  ])
}
