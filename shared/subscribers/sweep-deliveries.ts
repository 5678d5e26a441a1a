import { timeOf } from '../platform/base/clock.ts'
import type { WorkContext } from '../platform/request/context.ts'
import { type Item, keyOf } from '../platform/table/keys.ts'
import { inParallel, pendingEntries } from '../platform/table/table.ts'
import { type WaitingDelivery, waitingRange } from './delivery.ts'
import { type SendMessages, sendToQueue } from './delivery-queue.ts'
import { asSubscriber, type SubscriberRef } from './subscriber.ts'
import { asHealth, breakerOf, hasNoSlot, healthKey } from './subscriber-health.ts'

/** How long one run works. */
const runMilliseconds = 18_000
/** How often the sweep runs. */
const intervalMilliseconds = 60_000
/** The subscribers by which the start of a run moves, so that none is always the last. */
const rotation = 1000
/** The entries that one transaction removes. */
const batchSize = 25

/** The result of one run of the sweep. */
export interface SweepResult {
  /** Deliveries that were queued. */
  queued: number
  /** Subscribers that the run did not reach, or whose check failed. */
  left: number
  /** The oldest time at which a delivery was due that the run should have queued, in milliseconds since 1970. */
  oldest?: number
}

type Context = Pick<WorkContext, 'table' | 'clock' | 'settings' | 'isBlocked'>

/**
 * Queues the waiting deliveries of all subscribers that are due: at most deliveries.putBackPerMinute of each, none of one
 * that is paused or pauses by its breaker, and one to probe whether it still hangs.
 * A delivery is queued before its entry is removed, so a stopped run may queue one twice and loses none.
 */
export async function sweepDeliveries(context: Context, send: SendMessages): Promise<SweepResult> {
  const { table, clock } = context
  const until = clock.now() + runMilliseconds
  const entries = await pendingEntries(table, 'registered-subscriber', clock.now())
  const start = (Math.floor(clock.now() / intervalMilliseconds) * rotation) % Math.max(1, entries.length)
  const swept: SweepResult = { queued: 0, left: 0 }
  const refs = [...entries.slice(start), ...entries.slice(0, start)].map(({ sk, tenant }) => ({
    tenant: String(tenant),
    subscriber: sk,
  }))
  await inParallel(refs, async (ref) => {
    if (clock.now() > until) {
      swept.left += 1
      return
    }
    const due = await dueDeliveries(ref, context)
    if (due.length === 0) return
    const chosen = due.slice(0, await mostOf(ref, context))
    try {
      await putBack(ref, chosen, context, send)
      swept.queued += chosen.length
    } catch {
      swept.left += 1
      swept.oldest = Math.min(...[swept.oldest ?? [], ...chosen.map(dueAt)].flat())
    }
  })
  return swept
}

async function dueDeliveries(ref: SubscriberRef, { table, clock, settings }: Context) {
  const range = waitingRange(ref, clock.now(), settings['deliveries.putBackPerMinute'])
  return (await table.readRange(range)).items as (Item & WaitingDelivery)[]
}

function dueAt({ sk }: WaitingDelivery): number {
  return timeOf(sk.slice(sk.lastIndexOf('#') + 1))
}

/** Returns how many deliveries of a subscriber may be queued now. */
async function mostOf(ref: SubscriberRef, { table, clock, settings, isBlocked }: Context): Promise<number> {
  const key = keyOf(ref.tenant, 'subscriber', ref.subscriber)
  const items = await table.getMany([key, healthKey(ref)])
  const subscriber = items.find(({ pk }) => pk === key.pk)
  const health = asHealth(items.find(({ pk }) => pk !== key.pk))
  if (!subscriber || asSubscriber(subscriber).state !== 'active') return 0
  if (await isBlocked(ref.tenant, table)) return 0
  const breaker = breakerOf(health, clock.now())
  if (breaker !== 'closed') return breaker === 'half_open' ? 1 : 0
  return hasNoSlot(health, clock.now(), settings) ? 0 : settings['deliveries.putBackPerMinute']
}

async function putBack(
  { tenant, subscriber }: SubscriberRef,
  due: readonly WaitingDelivery[],
  { table }: Context,
  send: SendMessages,
): Promise<void> {
  for (let at = 0; at < due.length; at += batchSize) {
    const batch = due.slice(at, at + batchSize)
    await sendToQueue(
      batch.map(({ delivery, attempt }) => ({ tenant, subscriber, delivery, attempt })),
      send,
    )
    const keys = batch.map(({ pk, sk }) => ({ pk, sk }))
    await table.transact(keys.map((key) => ({ remove: key, condition: 'none' })))
  }
}
