import { secondsSince } from '../platform/base/clock.ts'
import type { WorkContext } from '../platform/request/context.ts'
import { type Item, keyOf } from '../platform/table/keys.ts'
import { pendingEntries } from '../platform/table/pending-entries.ts'
import { inParallel } from '../platform/table/table.ts'
import { keepSubscribedTenants, readSubscribedTenants } from '../subscribers/subscribed-tenants.ts'
import { asSubscriber, type SubscriberRef } from '../subscribers/subscriber.ts'
import { dueAt, type WaitingEntry, waitingRange } from './delivery.ts'
import { type SendMessages, sendToQueue } from './schedule-delivery.ts'
import { asHealth, breakerOf, healthKey, isSlow, slotsPerTenant } from './subscriber-health.ts'

/** How long one run works. */
const runMilliseconds = 18_000
/** How often the sweep runs. */
const intervalMilliseconds = 60_000
/**
 * The part of all subscribers by which the start of a run moves. With the golden ratio, the starts of any number of runs
 * are evenly distributed, so runs that reach only some subscribers reach all of them in turn.
 */
const rotation = (Math.sqrt(5) - 1) / 2
/** The deliveries of a subscriber that are queued at a time. One transaction removes their entries. */
const pageSize = 20
/**
 * The deliveries of a tenant that a run queues. They are sent evenly in the minute until the next run, so an endpoint that was
 * resumed gets at most 17 a second of them besides its new ones.
 */
const mostOfTenant = 1000
/** The calls that a process makes at the same time. */
const callsAtOnce = 10

/** The result of one run of the sweep. */
export interface SweptDeliveries {
  /** Deliveries that were queued. */
  queued: number
  /** Subscribers whose deliveries could not be read or queued, and the list of tenants if that could not be read or kept. */
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
 * Queues the waiting deliveries of all subscribers that are due, none of a subscriber that is paused or pauses by its breaker,
 * and one to probe whether it still hangs. The subscribers of a tenant take turns. A fault of one subscriber, or of the list
 * of tenants, stops no other. A delivery is queued before its entry is removed, so a stopped run may queue one twice and
 * loses none.
 */
export async function sweepDeliveries(context: Context, send: SendMessages): Promise<SweptDeliveries> {
  const { table, clock } = context
  const startedAt = clock.now()
  const swept: SweptDeliveries = { queued: 0, failed: 0, left: 0 }
  // Without the list, any tenant may have subscribers.
  const known = await readSubscribedTenants(table).catch((fault: unknown) => countFault(swept, fault))
  if (known?.tenants?.length === 0) return swept
  const entries = await pendingEntries(table, 'registered-subscriber')
  if (known)
    await keepSubscribedTenants(
      known,
      entries.map(({ tenant }) => String(tenant)),
      context,
    ).catch((fault: unknown) => countFault(swept, fault))
  const start = Math.floor(((Math.floor(startedAt / intervalMilliseconds) * rotation) % 1) * entries.length)
  const refs = [...entries.slice(start), ...entries.slice(0, start)].map(({ sk, tenant }) => ({
    tenant: String(tenant),
    subscriber: sk,
  }))
  const delayed: number[] = []
  const run: SweepRun = { ...context, send, swept, delayed, until: startedAt + runMilliseconds }
  await inParallel([...Map.groupBy(refs, ({ tenant }) => tenant).values()], (subscribers) =>
    sweepTenant(subscribers, run),
  )
  if (swept.left > 0) {
    const runsOfAll = refs.length / Math.max(1, refs.length - swept.left)
    delayed.push(startedAt - runsOfAll * intervalMilliseconds)
  }
  return delayed.length > 0 ? { ...swept, oldest: Math.min(...delayed) } : swept
}

interface SweepRun extends Context {
  send: SendMessages
  swept: SweptDeliveries
  /** The times at which deliveries were due that were not queued. */
  delayed: number[]
  /** The end of the run. */
  until: number
}

/** How many deliveries a run may queue, for one subscriber or for several of a tenant. */
interface Allowance {
  most: number
  used: number
}

function countFault(swept: SweptDeliveries, fault: unknown): undefined {
  swept.failed += 1
  swept.fault ??= fault
}

/** Queues a page of each subscriber of a tenant in turn, until none has more, or the tenant or the time of the run has none. */
async function sweepTenant(subscribers: readonly SubscriberRef[], run: SweepRun): Promise<void> {
  const { clock, settings, swept, delayed, until } = run
  const usual = { most: mostOfTenant, used: 0 }
  // As many as its slots take in a minute if each call takes all of its time.
  const callsOfSlot = (callsAtOnce * intervalMilliseconds) / 1000 / settings['deliveries.timeoutSeconds']
  const slow = { most: Math.ceil(slotsPerTenant(settings) * callsOfSlot), used: 0 }
  let turns: { ref: SubscriberRef; known?: Allowance }[] = subscribers.map((ref) => ({ ref }))
  while (turns.length > 0) {
    const more: typeof turns = []
    for (const { ref, known } of turns) {
      if (clock.now() > until) {
        if (!known) swept.left += 1
        continue
      }
      let due: WaitingEntry[] = []
      try {
        const page = await readDueDeliveries(ref, run)
        if (page.length === 0) continue
        const allowance = known ?? (await allowanceOf(ref, { usual, slow }, run))
        due = page.slice(0, allowance.most - allowance.used)
        await queue(ref, due, allowance, run)
        allowance.used += due.length
        swept.queued += due.length
        if (due.length === pageSize) more.push({ ref, known: allowance })
      } catch (fault) {
        countFault(swept, fault)
        delayed.push(...due.slice(0, 1).map(dueAt))
      }
    }
    turns = more
  }
}

/**
 * Logs a run. Only a fault counts as a failure of the function: the next runs begin with the subscribers that a run did not
 * reach, and the age reports them if that takes long.
 */
export function logSweep(
  { queued, failed, fault, left, oldest }: SweptDeliveries,
  { log, clock }: Pick<WorkContext, 'log' | 'clock'>,
): void {
  const code = failed + left > 0 ? 'DELIVERIES_LEFT' : 'DELIVERIES_QUEUED'
  if (queued + failed + left > 0) log.job({ code, done: queued, failed, fault })
  if (oldest !== undefined) log.pending('deliveries', secondsSince(oldest, clock))
}

/** Returns a page of the deliveries of a subscriber that are due, longest due first. */
async function readDueDeliveries(ref: SubscriberRef, { table, clock }: Context) {
  const range = waitingRange(ref, clock.now(), pageSize)
  return (await table.readRange(range)).items as (Item & WaitingEntry)[]
}

/** Returns how many deliveries of a subscriber that are due may be queued now. */
async function allowanceOf(
  ref: SubscriberRef,
  { usual, slow }: { usual: Allowance; slow: Allowance },
  { table, clock, isBlocked }: Context,
): Promise<Allowance> {
  const keys = [keyOf(ref.tenant, 'subscriber', ref.subscriber), healthKey(ref)]
  const items = await table.getMany(keys)
  const [subscriber, stored] = keys.map(({ pk, sk }) =>
    items.find((item) => item.pk === pk && item.sk === sk),
  )
  const health = asHealth(stored)
  const now = clock.now()
  const isActive = subscriber && asSubscriber(subscriber).state === 'active'
  if (!isActive || (await isBlocked(ref.tenant, table))) return { most: 0, used: 0 }
  const breaker = breakerOf(health, now)
  if (breaker !== 'closed') return { most: breaker === 'half_open' ? 1 : 0, used: 0 }
  return isSlow(health, now) ? slow : usual
}

/** Queues deliveries, those of an allowance evenly in the minute until the next run, and removes their entries. */
async function queue(
  { tenant, subscriber }: SubscriberRef,
  due: readonly WaitingEntry[],
  { most, used }: Allowance,
  { table, send }: SweepRun,
): Promise<void> {
  if (due.length === 0) return
  const messages = due.map(({ delivery, attempt }) => ({ tenant, subscriber, delivery, attempt }))
  await sendToQueue(messages, send, Math.floor((intervalMilliseconds / 1000) * (used / most)))
  const keys = due.map(({ pk, sk }) => ({ pk, sk }))
  await table.transact(keys.map((key) => ({ remove: key, condition: 'none' })))
}
