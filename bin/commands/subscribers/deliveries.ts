import {
  asDelivery,
  type Delivery,
  type DeliveryState,
  deliveryTransitions,
  pingType,
  resendDelivery,
  skipDelivery,
  type WaitingEntry,
  waitingRange,
} from '#shared/deliveries/delivery.ts'
import { type Clock, firstIdAt, largestId, lastIdAt, smallestId } from '#shared/platform/base/clock.ts'
import { readBlockedTenants } from '#shared/platform/identity/blocked-tenants.ts'
import { readAll } from '#shared/platform/listing/merge.ts'
import { type Item, keyOf, partitionsOf } from '#shared/platform/table/keys.ts'
import { inParallel, type Table } from '#shared/platform/table/table.ts'
import type { Subscriber, SubscriberRef } from '#shared/subscribers/subscriber.ts'
import type { Report } from '../../cli/output.ts'
import type { TimeRange } from '../events/replay.ts'
import { auditOfOperator } from '../stack/operator-audit.ts'
import { auditOfSubscriber, prepare, readSubscriber, type SubscriberOperator } from './subscriber-operator.ts'

/** The last time that an id can hold, in milliseconds since 1970. */
const latestTime = 2 ** 48 - 1

interface DeliverySelection extends Partial<TimeRange> {
  states?: readonly DeliveryState[]
}

/** Yields the recorded deliveries of a subscriber, in the order of their events. `to` is exclusive. */
async function* deliveriesOf(
  table: Table,
  { tenant, subscriber }: SubscriberRef,
  { from, to, states }: DeliverySelection = {},
): AsyncGenerator<Delivery> {
  const low = from ? firstIdAt(from.getTime()) : smallestId
  const high = to ? lastIdAt(to.getTime() - 1) : largestId
  const range = { low, high, descending: false, atOnce: 500 }
  for await (const items of readAll(table, partitionsOf(tenant, 'delivery'), range))
    for (const delivery of items.map(asDelivery))
      if (delivery.subscriber_id === subscriber && (states?.includes(delivery.state) ?? true)) yield delivery
}

/** Yields the waiting deliveries of a subscriber in pages, in the order of the times at which they are due. */
async function* waitingDeliveriesOf(table: Table, ref: SubscriberRef): AsyncGenerator<WaitingEntry[]> {
  for (let range = waitingRange(ref, latestTime, 100), last = ''; ; ) {
    const { items, exhausted } = await table.readRange(range)
    // The range includes the last item of the page before.
    yield (items as (Item & WaitingEntry)[]).filter(({ sk }) => sk !== last)
    if (exhausted) return
    last = String(items.at(-1)?.sk)
    range = { ...range, low: last }
  }
}

/**
 * Sends a recorded delivery again, with the id of its event.
 * @returns `waiting`, or `suspended` until its subscriber is resumed
 * @throws Error if there is none, if it has expired, or if the tenant is blocked
 */
export async function resend(
  operator: SubscriberOperator,
  tenant: string,
  id: string,
): Promise<'waiting' | 'suspended'> {
  const { table, clock } = operator
  await assertNotBlocked(table, tenant)
  const { settings } = await prepare(operator, {})
  for (;;) {
    const delivery = await readDelivery(table, tenant, id)
    if (isExpired(delivery, clock)) throw new Error(`the delivery ${id} has expired`)
    const { state } = await readSubscriber(operator, { tenant, subscriber: delivery.subscriber_id })
    const { changes, message } = resendDelivery(tenant, delivery, { clock, settings })
    const audited = { action: 'delivery.resend', target: `delivery/${id}` }
    // An attempt may have been recorded meanwhile.
    if (await table.transact([...changes, auditOfOperator(operator, tenant, audited)])) continue
    await operator.send(message)
    return state === 'active' ? 'waiting' : 'suspended'
  }
}

/**
 * Sends the deliveries of a time again that have ended, in the order of their events. Those that are waiting or suspended are
 * sent without it, and test events are not sent again. Expired ones are left to TTL, which deletes late.
 * @returns how many
 * @throws Error if there is no such subscriber, or if the tenant is blocked
 */
export async function replayDeliveries(
  operator: SubscriberOperator,
  ref: SubscriberRef,
  { window, report = () => {} }: { window: TimeRange; report?: Report },
): Promise<number> {
  const { table, clock } = operator
  await assertNotBlocked(table, ref.tenant)
  await readSubscriber(operator, ref)
  const { settings } = await prepare(operator, {})
  const after = { from: window.from.toISOString(), to: window.to.toISOString() }
  await table.transact([auditOfSubscriber(operator, ref, 'subscriber.replay', { after })])
  let sent = 0
  const ended = { ...window, states: ['succeeded', 'failed', 'skipped'] as const }
  for await (const deliveries of batchesOf(deliveriesOf(table, ref, ended)))
    await inParallel(deliveries, async (delivery) => {
      if (delivery.type === pingType || isExpired(delivery, clock)) return
      const { changes, message } = resendDelivery(ref.tenant, delivery, { clock, settings })
      // A delivery with a new attempt is being sent again by somebody else.
      if (await table.transact(changes)) return
      await operator.send(message)
      sent += 1
      report(`${sent} deliveries sent again`)
    })
  return sent
}

/**
 * Drops the deliveries that wait in the table or are suspended, of a subscriber that is paused or disabled.
 * @returns how many
 * @throws Error once the subscriber has changed
 */
export async function skipWaiting(
  operator: SubscriberOperator,
  ref: SubscriberRef,
  { unchanged, report }: { unchanged: Subscriber; report: Report },
): Promise<number> {
  const { table } = operator
  let skipped = 0
  for await (const entries of waitingDeliveriesOf(table, ref)) {
    if ((await readSubscriber(operator, ref)).updated_at !== unchanged.updated_at)
      throw new Error(`the subscriber ${unchanged.id} has changed: ${skipped} deliveries were dropped`)
    // A message that was delivered twice may have left two entries.
    const ids = new Set(entries.map(({ delivery }) => delivery))
    const keys = [...ids].map((id) => keyOf(ref.tenant, 'delivery', id))
    const deliveries = keys.length > 0 ? (await table.getMany(keys)).map(asDelivery) : []
    for (const delivery of deliveries)
      if (
        deliveryTransitions.allows('skip', delivery.state) &&
        !(await table.transact(skipDelivery(ref.tenant, delivery)))
      )
        skipped += 1
    report(`${skipped} deliveries dropped`)
  }
  return skipped
}

async function assertNotBlocked(table: Table, tenant: string): Promise<void> {
  if ((await readBlockedTenants(table)).tenants.includes(tenant))
    throw new Error(`${tenant} is blocked: nothing is sent to its subscribers`)
}

function isExpired({ expires_at }: Delivery, clock: Pick<Clock, 'now'>): boolean {
  return expires_at <= clock.now() / 1000
}

async function readDelivery(table: Table, tenant: string, id: string): Promise<Delivery> {
  const item = await table.get(keyOf(tenant, 'delivery', id))
  if (item) return asDelivery(item)
  throw new Error(`${tenant} has no delivery ${id}: \`deliveries list\` shows all`)
}

async function* batchesOf<One>(all: AsyncIterable<One>): AsyncGenerator<One[]> {
  let batch: One[] = []
  for await (const one of all) {
    batch.push(one)
    if (batch.length < 100) continue
    yield batch
    batch = []
  }
  yield batch
}
