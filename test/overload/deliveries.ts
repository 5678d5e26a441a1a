import { startBudget, timestamp } from '#shared/platform/base/clock.ts'
import type { Settings } from '#shared/settings/register.ts'
import type { SubscriberRequest, SubscriberResponse } from '#shared/subscribers/call-subscriber.ts'
import { createDeliveries } from '#shared/subscribers/create-deliveries.ts'
import type { QueuedDelivery } from '#shared/subscribers/delivery-queue.ts'
import { sendDeliveries } from '#shared/subscribers/send-deliveries.ts'
import { createSubscriber, type Subscriber } from '#shared/subscribers/subscriber.ts'
import { sweepDeliveries } from '#shared/subscribers/sweep-deliveries.ts'
import type { RecentWork } from '#shared/subscribers/tenant-share.ts'
import { MemoryStore } from '#test/simulation/memory-store.ts'
import { memoryTable } from '#test/simulation/memory-table.ts'
import { Random } from '#test/simulation/random.ts'
import { Scheduler } from '#test/simulation/scheduler.ts'
import { clockOf } from '#test/support/clocks.ts'
import { idAt } from '#test/support/ids.ts'
import { localSettings } from '#test/support/settings.ts'
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
  /** The subscribers that the events go to in turn; one if absent. */
  burstSubscribers?: number
  /** Milliseconds that each of them takes; without an end if it hangs. */
  burstMilliseconds: number
  seconds: number
  /** Without the slots of slow calls, the breaker and the pauses after floods. */
  unlimited?: boolean
  /** Other settings. */
  changes?: Partial<Settings>
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
  /** The events of the burst that were accepted. */
  accepted: number
  /** Milliseconds from the burst until the last of them was accepted. */
  lastAccepted: number
}

interface GroupedMessage {
  group: string
  body: string
}

/**
 * A fair queue of SQS: a group with a tenth of the messages in flight, and at least 30 of them, is served after the others.
 * https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-fair-queues.html
 */
class FairQueue {
  readonly #waiting = new Map<string, GroupedMessage[]>()
  readonly #inFlight = new Map<string, number>()

  add(message: GroupedMessage): void {
    const waiting = this.#waiting.get(message.group) ?? []
    this.#waiting.set(message.group, waiting)
    waiting.push(message)
  }

  take(most: number): GroupedMessage[] {
    const all = [...this.#inFlight.values()].reduce((sum, count) => sum + count, 0)
    const isNoisy = (group: string) => (this.#inFlight.get(group) ?? 0) >= Math.max(30, all / 10)
    const groups = [...this.#waiting].toSorted(
      ([one], [other]) => Number(isNoisy(one)) - Number(isNoisy(other)),
    )
    const taken = groups.flatMap(([, waiting]) => waiting.slice(0, most)).slice(0, most)
    for (const { group } of taken) {
      this.#waiting.get(group)?.shift()
      this.#inFlight.set(group, (this.#inFlight.get(group) ?? 0) + 1)
    }
    return taken
  }

  done(messages: readonly GroupedMessage[]): void {
    for (const { group } of messages) this.#inFlight.set(group, (this.#inFlight.get(group) ?? 0) - 1)
  }
}

/**
 * Sends events to subscribers by the service's own functions. The queue of events is fair, as on AWS. The queue of deliveries
 * delivers in order, and shares nothing fairly.
 */
export async function playDeliveries(scenario: DeliveryScenario): Promise<DeliveryOutcome> {
  const { seed, creators, senders, burst, burstMilliseconds, seconds, unlimited = false, changes } = scenario
  const { burstSubscribers = 1 } = scenario
  const random = new Random(seed)
  const scheduler = new Scheduler(epoch, false)
  const settings: Settings = {
    ...localSettings,
    ...changes,
    ...(unlimited && {
      'deliveries.slowCalls': { perTenant: 100, afterMilliseconds: 10_000 },
      'deliveries.breaker': { timeouts: 1e9, pauseSeconds: 1, maxPauseSeconds: 1 },
    }),
  }
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

  const queue: string[] = []
  /** Each process has its own memory. */
  const idle: RecentWork[] = Array.from({ length: senders }, () => new Map())
  let stopped = false
  const send = async (messages: readonly QueuedDelivery[]) => {
    await scheduler.sleep(between(queueMilliseconds, random))
    for (const { body, delaySeconds = 0 } of messages) {
      const arrive = () => {
        queue.push(body)
        startSenders()
      }
      scheduler.after(delaySeconds * 1000, arrive)
    }
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

  function startSenders(): void {
    while (queue.length > 0) {
      const recent = idle.pop()
      if (!recent) return
      const messages = queue.splice(0, batchSize)
      const sending = { call, sign: async () => ({}), send, recent }
      void Promise.all(sendDeliveries(messages, contextOf(), sending))
        .catch((thrown) => scheduler.fail(thrown))
        .then(() => {
          idle.push(unlimited ? new Map() : recent)
          startSenders()
        })
    }
  }

  const events = new FairQueue()
  let freeCreators = creators
  function startCreators(): void {
    while (freeCreators > 0) {
      const messages = events.take(batchSize)
      if (messages.length === 0) return
      freeCreators -= 1
      const bodies = messages.map(({ body }) => body)
      void Promise.all(createDeliveries(bodies, contextOf(), send))
        .catch((thrown) => scheduler.fail(thrown))
        .then(() => {
          events.done(messages)
          freeCreators += 1
          startCreators()
        })
    }
  }
  const publish = (tenant: string, count: number) => {
    for (let n = 0; n < count; n += 1) {
      const event_id = `${tenant} ${publishedAt.size}`
      publishedAt.set(event_id, scheduler.now)
      const occurred_at = timestamp(clock.now())
      const type = tenant === 'greedy' ? `part.${publishedAt.size % burstSubscribers}` : 'order.placed'
      const event = { event_id, type, version: 1, occurred_at, data: { tenant_id: tenant } }
      events.add({ group: tenant, body: JSON.stringify({ detail: event }) })
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
  const sweep = () => {
    if (stopped) return
    void sweepDeliveries(contextOf(), send)
    scheduler.after(sweepSeconds * 1000, sweep)
  }
  scheduler.after(sweepSeconds * 1000, sweep)
  try {
    await scheduler.runUntil(Promise.all(arrivals).then(() => scheduler.sleep(120_000)))
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
  const accepted = [...acceptedAt].filter(([id]) => id.startsWith('greedy')).map(([, at]) => at - fromBurst)
  return {
    othersP95: p95Of(times),
    othersP95AtFirst: p95Of(timesUntil(fromBurst + 20_000)),
    othersMax: times.at(-1) ?? Number.NaN,
    othersAccepted: times.length / published.length,
    calls,
    accepted: accepted.length,
    lastAccepted: Math.max(...accepted),
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
