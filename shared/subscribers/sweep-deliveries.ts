import { secondsSince } from '../platform/base/clock.ts'
import type { WorkContext } from '../platform/request/context.ts'
import { type Item, keyOf } from '../platform/table/keys.ts'
import { pendingEntries } from '../platform/table/pending-entries.ts'
import { inParallel } from '../platform/table/table.ts'
import { dueAt, type WaitingDelivery, waitingRange } from './delivery.ts'
import { type SendMessages, sendToQueue } from './delivery-queue.ts'
import { asSubscriber, type SubscriberRef } from './subscriber.ts'
import { asHealth, breakerOf, healthKey, isSlow, recordSlowness } from './subscriber-health.ts'
import { hasNoSlot, slotsKey } from './tenant-share.ts'

/** How long one run works. */
const runMilliseconds = 18_000
/** How often the sweep runs. */
const intervalMilliseconds = 60_000
/**
 * The part of all subscribers by which the start of a run moves. With the golden ratio, the starts of any number of runs
 * are spread evenly, so runs that reach only some subscribers reach all of them in turn.
 */
const rotation = (Math.sqrt(5) - 1) / 2
/** The entries that one transaction removes. */
const batchSize = 25

/** The result of one run of the sweep. */
export interface SweepResult {
  /** Deliveries that were queued. */
  queued: number
  /** Subscribers whose deliveries could not be read or queued. */
  failed: number
  /** The fault of one of them. */
  fault?: unknown
  /** Subscribers that the run did not reach in its time. */
  left: number
  /**
   * The oldest time at which a delivery was due that the run should have queued, in milliseconds since 1970. For
   * subscribers that it did not reach, it is the time at which a run has probably reached them.
   */
  oldest?: number
}

type Context = Pick<WorkContext, 'table' | 'clock' | 'settings' | 'isBlocked'>

/**
 * Queues the waiting deliveries of all subscribers that are due: at most deliveries.putBackPerMinute of each tenant, none of
 * a subscriber that is paused or pauses by its breaker, and one to probe whether it still hangs. A fault of one subscriber
 * stops no other.
 * A delivery is queued before its entry is removed, so a stopped run may queue one twice and loses none.
 */
export async function sweepDeliveries(context: Context, send: SendMessages): Promise<SweepResult> {
  const { table, clock } = context
  const startedAt = clock.now()
  const until = startedAt + runMilliseconds
  const entries = await pendingEntries(table, 'registered-subscriber')
  const start = Math.floor(((Math.floor(startedAt / intervalMilliseconds) * rotation) % 1) * entries.length)
  const refs = [...entries.slice(start), ...entries.slice(0, start)].map(({ sk, tenant }) => ({
    tenant: String(tenant),
    subscriber: sk,
  }))
  const swept: SweepResult = { queued: 0, failed: 0, left: 0 }
  const delayed: number[] = []
  await inParallel([...Map.groupBy(refs, ({ tenant }) => tenant).values()], async (subscribers) => {
    let most = context.settings['deliveries.putBackPerMinute']
    for (const ref of subscribers) {
      if (clock.now() > until) {
        swept.left += 1
        continue
      }
      let chosen: WaitingDelivery[] = []
      try {
        chosen = await chooseDue(ref, most, context)
        most -= chosen.length
        await putBack(ref, chosen, context, send)
        swept.queued += chosen.length
      } catch (fault) {
        swept.failed += 1
        swept.fault ??= fault
        delayed.push(...chosen.slice(0, 1).map(dueAt))
      }
    }
  })
  if (swept.left > 0) {
    const runsOfAll = refs.length / Math.max(1, refs.length - swept.left)
    delayed.push(startedAt - runsOfAll * intervalMilliseconds)
  }
  return delayed.length > 0 ? { ...swept, oldest: Math.min(...delayed) } : swept
}

/**
 * Logs a run. Only a fault counts as a failure of the function: the next runs begin with the subscribers that a run did not
 * reach, and the age reports them if that takes long.
 */
export function logSweep(
  { queued, failed, fault, left, oldest }: SweepResult,
  { log, clock }: Pick<WorkContext, 'log' | 'clock'>,
): void {
  const code = failed + left > 0 ? 'DELIVERIES_LEFT' : 'DELIVERIES_PUT_BACK'
  if (queued + failed + left > 0) log.job({ code, done: queued, failed, fault })
  if (oldest !== undefined) log.pending('deliveries', secondsSince(oldest, clock))
}

async function dueDeliveries(ref: SubscriberRef, limit: number, { table, clock }: Context) {
  const range = waitingRange(ref, clock.now(), limit)
  return (await table.readRange(range)).items as (Item & WaitingDelivery)[]
}

/** Returns the due deliveries of a subscriber that may be queued now. @param most those that its tenant has left */
async function chooseDue(ref: SubscriberRef, most: number, context: Context): Promise<WaitingDelivery[]> {
  // One entry shows whether any is due: most subscribers have none, and one that is paused may have very many.
  const first = await dueDeliveries(ref, 1, context)
  if (first.length === 0) return first
  const allowed = Math.min(most, await mostOf(ref, context))
  return allowed > 1 ? dueDeliveries(ref, allowed, context) : first.slice(0, allowed)
}

/** Returns how many deliveries of a subscriber that are due may be queued now. */
async function mostOf(ref: SubscriberRef, context: Context): Promise<number> {
  const { table, clock, settings, isBlocked } = context
  const keys = [keyOf(ref.tenant, 'subscriber', ref.subscriber), healthKey(ref), slotsKey(ref)]
  const items = await table.getMany(keys)
  const [subscriber, stored, slots] = keys.map(({ pk, sk }) =>
    items.find((item) => item.pk === pk && item.sk === sk),
  )
  const health = asHealth(stored)
  const now = clock.now()
  if (!subscriber || asSubscriber(subscriber).state !== 'active') return 0
  if (await isBlocked(ref.tenant, table)) return 0
  const breaker = breakerOf(health, now)
  if (breaker !== 'closed') return breaker === 'half_open' ? 1 : 0
  if (!isSlow(health, now) || !hasNoSlot(slots, now, settings)) return Number.POSITIVE_INFINITY
  await recordSlowness(ref, health, { table, settings, now: () => clock.now() })
  return 0
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
