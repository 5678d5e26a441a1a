import type { SubscriberRequest, SubscriberResponse } from '#shared/deliveries/call-subscriber.ts'
import { createDeliveries } from '#shared/deliveries/create-deliveries.ts'
import type { DeliveredEvent } from '#shared/deliveries/delivery.ts'
import type { QueuedDelivery } from '#shared/deliveries/schedule-delivery.ts'
import { sendDeliveries } from '#shared/deliveries/send-deliveries.ts'
import { sweepDeliveries } from '#shared/deliveries/sweep-deliveries.ts'
import { startBudget, timestamp } from '#shared/platform/base/clock.ts'
import type { Settings } from '#shared/settings/register.ts'
import { createSubscriber, type Subscriber } from '#shared/subscribers/subscriber.ts'
import { MemoryStore } from '#test/simulation/memory-store.ts'
import { memoryTable } from '#test/simulation/memory-table.ts'
import { Random } from '#test/simulation/random.ts'
import { Scheduler } from '#test/simulation/scheduler.ts'
import { clockOf } from '#test/support/clocks.ts'
import { idAt } from '#test/support/ids.ts'
import { localSettings } from '#test/support/settings.ts'
import { DeliveryQueue } from './delivery-queue.ts'
import { between } from './functions.ts'

/** Milliseconds of a call of the table, of the queue, and of a subscriber that is well. */
const tableMilliseconds = [4, 16] as const
const queueMilliseconds = [5, 15] as const
const subscriberMilliseconds = [50, 150] as const
const batchSize = 10
const sweepSeconds = 60
const workMilliseconds = 26_000
const epoch = Date.UTC(2026, 2, 1)
/** Tenants besides the one under load, each with one subscriber, and the events of each in a second. */
const otherTenants = 20
const eventsASecond = 1

export interface DeliveryScenario {
  seed: number
  /** Processes of the function that queues the deliveries of events. */
  creators: number
  /** Processes of the function that sends. Each makes the calls of a batch at the same time. */
  senders: number
  /** Events of one tenant that are published at once, after ten seconds. */
  burst: number
  /** Events of that tenant in a second from then on; none if absent. */
  rate?: number
  /** The subscribers that the events go to in turn; one if absent. */
  burstSubscribers?: number
  /** Milliseconds that each of them takes; without an end if it hangs. */
  burstMilliseconds: number
  seconds: number
  /** Whether the queue of deliveries has no message groups. */
  withoutGroups?: boolean
}

export interface DeliveryOutcome {
  /** Milliseconds from the publication of an event of another tenant until its subscriber has accepted it. */
  othersP95: number
  /** The same of the events in the first 20 s of the burst. */
  othersP95AtFirst: number
  othersMax: number
  /** The part of these events that were accepted. */
  othersAccepted: number
  /** The calls of the subscriber under load. */
  calls: number
  /** The events of the tenant under load that were accepted. */
  accepted: number
  /** Milliseconds from the burst until the last of them was accepted. */
  lastAccepted: number
  /** The p95 of their milliseconds from publication to acceptance. */
  ownP95: number
  /** Those that were accepted in a second, while they were published. */
  acceptedASecond: number
}

/** Sends events to subscribers by the service's own functions. The queue of events has no groups. */
export async function playDeliveries(scenario: DeliveryScenario): Promise<DeliveryOutcome> {
  const { seed, creators, senders, burst, rate = 0, burstMilliseconds, seconds } = scenario
  const { burstSubscribers = 1, withoutGroups = false } = scenario
  const random = new Random(seed)
  const scheduler = new Scheduler(epoch, false)
  const settings: Settings = { ...localSettings, 'deliveries.senders': senders }
  const store = new MemoryStore({ now: () => scheduler.now })
  const clock = clockOf(scheduler, random)
  const contextOf = () => ({
    table: memoryTable(store, { clock, budget: startBudget(clock, workMilliseconds) }, async ({ effect }) => {
      await scheduler.sleep(between(tableMilliseconds, random) / 2)
      const result = effect()
      await scheduler.sleep(between(tableMilliseconds, random) / 2)
      return result
    }),
    clock,
    settings,
    now: clock.now,
    isBlocked: async () => false,
    log: { alert: () => {} } as never,
  })

  const now = () => scheduler.now
  const queue = new DeliveryQueue(!withoutGroups, now)
  let freeSenders = senders
  let stopped = false
  const send = async (messages: readonly QueuedDelivery[]) => {
    await scheduler.sleep(between(queueMilliseconds, random))
    for (const { body, group, delaySeconds = 0 } of messages)
      scheduler.after(delaySeconds * 1000, () => {
        queue.add({ body, group })
        startSenders()
      })
    return messages.map(() => false)
  }
  const publishedAt = new Map<string, number>()
  const acceptedAt = new Map<string, number>()
  let calls = 0

  async function call({
    url,
    body,
    timeoutMilliseconds,
    slow,
  }: SubscriberRequest): Promise<SubscriberResponse> {
    const isBurst = url.includes('greedy')
    if (isBurst) calls += 1
    const milliseconds = isBurst ? burstMilliseconds : between(subscriberMilliseconds, random)
    const first = Math.min(milliseconds, slow.afterMilliseconds)
    await scheduler.sleep(first)
    if (milliseconds > slow.afterMilliseconds && !(await slow.mayContinue())) return { reason: 'no_slot' }
    await scheduler.sleep(Math.min(milliseconds, timeoutMilliseconds) - first)
    if (milliseconds >= timeoutMilliseconds) return { reason: 'timeout' }
    const { event_id } = JSON.parse(body)
    acceptedAt.set(event_id, acceptedAt.get(event_id) ?? scheduler.now)
    return { status: 204, answer: '' }
  }

  /** Lets a free process work on a batch. */
  function start(
    from: DeliveryQueue,
    work: (bodies: string[]) => Promise<unknown>[],
    free: () => void,
  ): boolean {
    const messages = from.take(batchSize)
    if (messages.length === 0) return false
    const startedAt = scheduler.now
    void Promise.all(work(messages.map(({ body }) => body)))
      .catch((thrown) => scheduler.fail(thrown))
      .then(() => {
        from.done(messages, scheduler.now - startedAt)
        free()
      })
    return true
  }
  const sending = { call, sign: async () => ({}), send }
  const sendBatch = (bodies: string[]) => sendDeliveries(bodies, contextOf(), sending)
  function startSenders(): void {
    const free = () => {
      freeSenders += 1
      startSenders()
    }
    while (freeSenders > 0 && start(queue, sendBatch, free)) freeSenders -= 1
  }

  const events = new DeliveryQueue(false, now)
  let freeCreators = creators
  const createBatch = (bodies: string[]) => createDeliveries(bodies, contextOf(), send)
  function startCreators(): void {
    const free = () => {
      freeCreators += 1
      startCreators()
    }
    while (freeCreators > 0 && start(events, createBatch, free)) freeCreators -= 1
  }
  const publish = (tenant: string, count: number) => {
    for (let n = 0; n < count; n += 1) {
      const event_id = `${tenant} ${publishedAt.size}`
      publishedAt.set(event_id, scheduler.now)
      const occurred_at = timestamp(clock.now())
      const type = tenant === 'greedy' ? `part.${publishedAt.size % burstSubscribers}` : 'order.placed'
      const detail: DeliveredEvent = {
        event_id,
        type,
        version: 1,
        occurred_at,
        source: 'commerce-api',
        correlation_id: event_id,
        data: { tenant_id: tenant },
      }
      events.add({ group: tenant, body: JSON.stringify({ detail }) })
    }
    startCreators()
  }
  const addSubscriber = (tenant: string, type: string) =>
    store.transact(createSubscriber({ ...subscriberOf(tenant, random), events: [type] }), tenant)
  const others = Array.from({ length: otherTenants }, (_, n) => `tenant-${n}`)
  for (const tenant of others) addSubscriber(tenant, '*')
  for (let n = 0; n < burstSubscribers; n += 1) addSubscriber('greedy', `part.${n}`)
  const arrivals = others.map(async (tenant) => {
    const own = random.fork(tenant)
    while (scheduler.now < epoch + seconds * 1000) {
      await scheduler.sleep((-Math.log(1 - own.next()) / eventsASecond) * 1000)
      publish(tenant, 1)
    }
  })
  scheduler.after(10_000, () => publish('greedy', burst))
  if (rate > 0) arrivals.push(publishSteadily())
  async function publishSteadily(): Promise<void> {
    const own = random.fork('greedy')
    await scheduler.sleep(10_000)
    while (scheduler.now < epoch + seconds * 1000) {
      await scheduler.sleep((-Math.log(1 - own.next()) / rate) * 1000)
      publish('greedy', 1)
    }
  }
  const sweep = () => {
    if (stopped) return
    void sweepDeliveries(contextOf(), send)
    scheduler.after(sweepSeconds * 1000, sweep)
  }
  scheduler.after(sweepSeconds * 1000, sweep)
  try {
    await scheduler.runUntil(Promise.all(arrivals).then(() => scheduler.sleep(60_000)))
  } finally {
    stopped = true
  }

  const fromBurst = epoch + 10_000
  const published = [...publishedAt].filter(([id, at]) => !id.startsWith('greedy') && at >= fromBurst)
  const timesUntil = (end: number) =>
    published
      .filter(([, at]) => at < end)
      .flatMap(([id, at]) => (acceptedAt.has(id) ? [(acceptedAt.get(id) ?? 0) - at] : []))
      .toSorted((one, other) => one - other)
  const times = timesUntil(Number.POSITIVE_INFINITY)
  const own = [...acceptedAt].filter(([id]) => id.startsWith('greedy'))
  const end = epoch + seconds * 1000
  const inTime = own.filter(([, at]) => at >= fromBurst && at < end).length
  return {
    othersP95: p95Of(times),
    othersP95AtFirst: p95Of(timesUntil(fromBurst + 20_000)),
    othersMax: times.at(-1) ?? Number.NaN,
    othersAccepted: times.length / published.length,
    calls,
    accepted: own.length,
    lastAccepted: own.reduce((last, [, at]) => Math.max(last, at - fromBurst), 0),
    ownP95: p95Of(
      own.map(([id, at]) => at - (publishedAt.get(id) ?? 0)).toSorted((one, other) => one - other),
    ),
    acceptedASecond: inTime / (seconds - 10),
  }
}

function p95Of(sorted: readonly number[]): number {
  return sorted[Math.ceil(0.95 * sorted.length) - 1] ?? Number.NaN
}

function subscriberOf(tenant: string, random: Random): Subscriber {
  const at = timestamp(epoch)
  const id = idAt(epoch, (length) => random.bytes(length))
  const url = `https://${tenant}.example/hook`
  return {
    ...{ id, tenant_id: tenant, url, events: ['*'], state: 'active', secrets: [] },
    ...{ created_at: at, updated_at: at },
  }
}
