import { createHmac } from 'node:crypto'
import type { SubscriberRequest, SubscriberResponse } from '#shared/deliveries/call-subscriber.ts'
import { createDeliveries } from '#shared/deliveries/create-deliveries.ts'
import type { DeliveredEvent, Delivery } from '#shared/deliveries/delivery.ts'
import type { QueuedDelivery } from '#shared/deliveries/schedule-delivery.ts'
import { sendDeliveries } from '#shared/deliveries/send-deliveries.ts'
import { sweepDeliveries } from '#shared/deliveries/sweep-deliveries.ts'
import { retryDelaySeconds } from '#shared/platform/aws/queue-function.ts'
import { startBudget } from '#shared/platform/base/clock.ts'
import { type KeyName, keyDerivation } from '#shared/platform/base/secrets.ts'
import { taskQueues } from '#shared/platform/events/outbox.ts'
import type { Item } from '#shared/platform/table/keys.ts'
import type { Settings } from '#shared/settings/register.ts'
import { openSecrets, signingHeaders } from '#shared/subscribers/signing-secret.ts'
import type { Subscriber } from '#shared/subscribers/subscriber.ts'
import { clockOf } from '#test/support/clocks.ts'
import { collectedTable } from '#test/support/declared-table.ts'
import { MemoryStore } from './memory-store.ts'
import { memoryTable } from './memory-table.ts'
import { type Faults, Process } from './process.ts'
import type { Random } from './random.ts'
import type { Scheduler } from './scheduler.ts'
import { transitOf } from './transit.ts'

/** Returns a key of one version of its secret. */
export function versionedKey(name: KeyName, version: string) {
  return { key: deriveKey(`the secret of a key, ${version}, long enough`, name), version }
}

/** How a subscriber responds. */
export type Behavior = 'fine' | 'slow' | 'hangs' | 'fails' | 'refuses' | 'busy' | 'gone'

/** A call as the subscriber gets it. */
export interface ReceivedCall {
  subscriberId: string
  headers: Readonly<Record<string, string>>
  body: string
  /** What the process has read of the subscriber and of the delivery; absent if it has not read them. */
  subscriber: Subscriber | undefined
  delivery: Delivery | undefined
  /** The clock of the process at the call, in milliseconds since 1970. */
  at: number
  /** Whether the process has read that its tenant is not blocked. */
  isUnblocked: boolean
  /** Whether the subscriber has responded with success. */
  accepted: boolean
}

type QueueName = 'published_events' | 'deliveries'

interface Message {
  body: string
  receives: number
}

const deriveKey = keyDerivation()
const invocationMilliseconds = 32_000
const workMilliseconds = 26_000
const sweepMilliseconds = 60_000
const maxBatch = 10
const maxLatenessMilliseconds = 60_000
/** The longest time that the sweep waits for the answer of the queue. */
const maxSendMilliseconds = 5000

/** An invocation that had messages, and whether some of them are repeated for it. */
interface Invocation {
  process: string
  deliveries: Set<string>
  failed: boolean
}

/**
 * The bus, the queues, the functions of deliveries and the subscribers, on a table in memory. As in `World`, everything that
 * a function calls may fail, and the queues deliver at least once, in any order.
 */
export class DeliveryWorld {
  readonly store: MemoryStore
  readonly received: ReceivedCall[] = []
  readonly behaviors = new Map<string, Behavior>()
  readonly deadLetters: { queue: QueueName; body: string }[] = []
  /** Returns whether a message is not handled. */
  isLeft: (queue: QueueName, body: string) => boolean = () => false
  /** The messages that are not handled. */
  readonly waiting: { receiver: QueueName; body: string }[] = []
  readonly blocked = new Set<string>()
  /** How often each event was fanned out: each time makes a message, or an entry of a suspended delivery. */
  readonly fanOuts = new Map<string, number>()
  /** The current version of the key that seals the secrets of subscribers. */
  secretVersion = 'v1'
  /** Messages that are queued or at work. */
  busy = 0
  stopped = false
  readonly scheduler: Scheduler
  readonly random: Random
  readonly faults: Faults
  readonly settings: Settings
  readonly #accesses: Map<string, Set<string>> | undefined
  readonly #ready: Record<QueueName, Message[]> = { published_events: [], deliveries: [] }
  readonly #invocations: Invocation[] = []
  readonly #copies = new Map<string, number>()
  #spawned = 0

  constructor(options: {
    scheduler: Scheduler
    random: Random
    faults: Faults
    settings: Settings
    accesses: Map<string, Set<string>> | undefined
  }) {
    this.scheduler = options.scheduler
    this.random = options.random
    this.faults = options.faults
    this.settings = options.settings
    this.#accesses = options.accesses
    this.store = new MemoryStore({ now: () => this.scheduler.now })
    this.#sweepAgain()
  }

  /** A clock of an operator's command. */
  get faultlessClock() {
    return clockOf(this.scheduler, this.random)
  }

  /** Publishes an event on the bus. */
  publish(event: DeliveredEvent): void {
    this.enqueue('published_events', JSON.stringify({ detail: event }))
  }

  /** Adds a message to a queue, which delivers it at least once. */
  enqueue(queue: QueueName, body: string, delaySeconds = 0): void {
    if (this.isLeft(queue, body)) return void this.waiting.push({ receiver: queue, body })
    const { random, faults } = this
    const times = faults.active && random.chance(0.1) ? 2 : 1
    if (times > 1) this.addCopy(body)
    for (let time = 0; time < times; time += 1) {
      const late = faults.active && random.chance(0.1) ? maxLatenessMilliseconds : 100
      // A message that is overdue is taken for lost, and another one takes its place.
      if (late === maxLatenessMilliseconds) this.addCopy(body)
      this.busy += 1
      this.#deliver(queue, { body, receives: 0 }, delaySeconds * 1000 + random.next() * late)
    }
  }

  /** Counts one more message of a delivery than its attempts need. */
  addCopy(body: string): void {
    const name = deliveryOf(body)
    this.#copies.set(name, (this.#copies.get(name) ?? 0) + 1)
  }

  /** Returns how many messages of each delivery faults and operators may have added. */
  copies(): Map<string, number> {
    const copies = new Map(this.#copies)
    const faults = Map.groupBy(this.faults.injected, ({ id }) => id.slice(0, id.indexOf('#')))
    for (const { process, deliveries, failed } of this.#invocations) {
      const added = Number(failed) + (faults.get(process)?.length ?? 0)
      for (const name of deliveries) copies.set(name, (copies.get(name) ?? 0) + added)
    }
    return copies
  }

  /** An operator returns the messages that a queue has given up. */
  redrive(): void {
    for (const { queue, body } of this.deadLetters.splice(0)) this.enqueue(queue, body)
  }

  async versionedKey(name: KeyName, version = this.secretVersion) {
    return versionedKey(name, version)
  }

  #deliver(queue: QueueName, message: Message, delay: number): void {
    this.scheduler.after(delay, () => {
      this.#ready[queue].push(message)
      // A function takes what is ready a little later: one message, or a batch.
      this.scheduler.after(this.random.pick([0, 1, 50]), () => void this.#runBatch(queue))
    })
  }

  async #runBatch(queue: QueueName): Promise<void> {
    const batch = this.#ready[queue].splice(0, 1 + this.random.int(maxBatch))
    if (batch.length === 0) return
    const process = this.#spawn(queue)
    for (const message of batch) message.receives += 1
    const sent = batch.map(({ body }) => body)
    const outcomes = await this.#invocation(process, () =>
      Promise.allSettled(this.#work(queue, sent, process)),
    )
    for (const [index, { body }] of batch.entries()) {
      const failed = outcomes?.[index]?.status !== 'fulfilled'
      this.#invocations.push({ process: process.name, deliveries: new Set([deliveryOf(body)]), failed })
    }
    for (const [index, message] of batch.entries()) {
      if (outcomes?.[index]?.status === 'fulfilled') this.busy -= 1
      else if (message.receives < taskQueues[queue].attempts())
        this.#deliver(queue, message, retryDelaySeconds(message.receives + 1, process.clock) * 1000)
      else {
        this.deadLetters.push({ queue, body: message.body })
        this.busy -= 1
      }
    }
  }

  #work(queue: QueueName, sent: readonly string[], process: Process): Promise<void>[] {
    const { context, read, unblocked } = this.#contextOf(process)
    const send = (messages: readonly QueuedDelivery[]) => this.#send(messages, process)
    if (queue === 'published_events') {
      for (const { detail } of sent.map((body) => JSON.parse(body)))
        this.fanOuts.set(detail.event_id, (this.fanOuts.get(detail.event_id) ?? 0) + 1)
      return createDeliveries(sent, context, send)
    }
    return sendDeliveries(sent, context, {
      call: (request) => this.#call(request, process, { read, unblocked }),
      sign: async (subscriber, signed) => {
        const secrets = await openSecrets(subscriber, context)
        return signingHeaders({ ...signed, secrets }, this.settings)
      },
      send,
    })
  }

  #sweepAgain(): void {
    this.scheduler.after(sweepMilliseconds, async () => {
      if (this.stopped) return
      this.#sweepAgain()
      const process = this.#spawn('sweep-deliveries')
      const invocation: Invocation = { process: process.name, deliveries: new Set(), failed: true }
      this.#invocations.push(invocation)
      const isSlow = this.random.chance(0.2)
      const send = async (messages: readonly QueuedDelivery[]) => {
        for (const { body } of messages) invocation.deliveries.add(deliveryOf(body))
        const failed = await this.#send(messages, process)
        if (isSlow) await process.clock.sleep(process.clock.jitter() * maxSendMilliseconds)
        return failed
      }
      const { context } = this.#contextOf(process)
      const swept = await this.#invocation(process, () => sweepDeliveries(context, send))
      invocation.failed = swept === undefined || swept.failed > 0
    })
  }

  #contextOf(process: Process) {
    const { store, settings } = this
    const { clock } = process
    const budget = startBudget(clock, workMilliseconds)
    /** The items as the process has read them last. */
    const read = new Map<string, Item>()
    /** The tenants of which it has read that they are not blocked. */
    const unblocked = new Set<string>()
    const transit = transitOf(process, budget)
    const opened = memoryTable(store, { clock, budget }, (call) => {
      const called = transit(call)
      // A response that comes late, or not at all, was not read.
      const note = (result: unknown) => {
        if (call.name === 'get-many')
          for (const item of (result as { items: Item[] }).items) read.set(`${item.pk} ${item.sk}`, item)
      }
      called.then(note, () => {})
      return called
    })
    const table = collectedTable(opened, process.runs, this.#accesses)
    const context = {
      table,
      clock,
      settings,
      now: () => clock.now(),
      isBlocked: async (tenant: string) => {
        if (this.blocked.has(tenant)) return true
        unblocked.add(tenant)
        return false
      },
      versionedKey: (name: KeyName, version?: string) => this.versionedKey(name, version),
      log: { alert: () => {}, job: () => {} } as never,
    }
    return { context, read, unblocked }
  }

  #send(messages: readonly QueuedDelivery[], process: Process): Promise<boolean[]> {
    const accept = (count: number) => () => {
      for (const { body, delaySeconds } of messages.slice(0, count))
        this.enqueue('deliveries', body, delaySeconds)
      return messages.map((_, index) => index >= count)
    }
    return process.call({
      name: 'send-deliveries',
      effect: accept(messages.length),
      partial: accept(messages.length - 1),
      timeoutMilliseconds: 3000,
    })
  }

  /** Calls a subscriber as `callSubscriber` does: a call that is slow goes on only if it may, and ends at its time limit. */
  async #call(
    { url, headers, body, timeoutMilliseconds, slow }: SubscriberRequest,
    process: Process,
    { read, unblocked }: { read: ReadonlyMap<string, Item>; unblocked: ReadonlySet<string> },
  ): Promise<SubscriberResponse> {
    const { hostname } = new URL(url)
    const subscriberId = hostname.slice(0, hostname.indexOf('.'))
    const items = [...read.values()]
    const { event_id, data } = JSON.parse(body)
    const received: ReceivedCall = {
      subscriberId,
      headers,
      body,
      subscriber: items.find(({ pk, sk }) => pk.startsWith('subscriber#') && sk === subscriberId) as never,
      delivery: items.find((one) => one.event_id === event_id && one.subscriber_id === subscriberId) as never,
      at: process.clock.now(),
      isUnblocked: unblocked.has(data.tenant_id),
      accepted: false,
    }
    this.received.push(received)
    const behavior = this.behaviors.get(subscriberId) ?? 'fine'
    const wanted = { slow: 500 + this.random.next() * 9000, hangs: Number.POSITIVE_INFINITY }
    const milliseconds = behavior === 'slow' || behavior === 'hangs' ? wanted[behavior] : 30
    if (milliseconds > slow.afterMilliseconds) {
      await process.clock.sleep(slow.afterMilliseconds)
      if (!(await slow.mayContinue())) return { reason: 'no_slot' }
    }
    const rest = Math.min(milliseconds, timeoutMilliseconds) - slow.afterMilliseconds
    await process.clock.sleep(Math.max(0, rest))
    if (milliseconds >= timeoutMilliseconds) return { reason: 'timeout' }
    try {
      return await process.call({
        name: 'subscriber',
        effect: () => {
          const response = responses[behavior]
          received.accepted = 'status' in response && response.status < 300
          return response
        },
        timeoutMilliseconds,
      })
    } catch {
      return { reason: 'connection' }
    }
  }

  #spawn(runs: string): Process {
    this.#spawned += 1
    const { scheduler, random, faults, settings } = this
    const skew = [0, 1500, -1500][this.#spawned % 3] ?? 0
    return new Process(`${runs}.${this.#spawned}`, { runs, scheduler, random, faults, settings, skew })
  }

  /** Runs an invocation. @returns undefined if the process dies or takes too long */
  async #invocation<Result>(process: Process, work: () => Promise<Result>): Promise<Result | undefined> {
    const died = new Promise<undefined>((resolve) => {
      process.onCrash = () => resolve(undefined)
    })
    const late = this.scheduler.sleep(invocationMilliseconds).then(() => undefined)
    return Promise.race([work().catch(() => undefined), died, late])
  }
}

const responses: Record<Behavior, SubscriberResponse> = {
  fine: { status: 204, answer: '' },
  slow: { status: 200, answer: 'thanks' },
  hangs: { reason: 'timeout' },
  fails: { status: 500, answer: 'no' },
  refuses: { reason: 'connection' },
  busy: { status: 503, answer: '', retryAfter: '30' },
  gone: { status: 410, answer: '' },
}

/** Returns the name of the delivery of a message. */
function deliveryOf(body: string): string {
  const { subscriber, delivery } = JSON.parse(body)
  return `${subscriber} ${delivery}`
}

/** Returns whether a signature verifies, independently of the service's own code. */
export function verifies(call: ReceivedCall, secret: string): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signatures = '' } = call.headers
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const wanted = createHmac('sha256', key).update(`${id}.${at}.${call.body}`).digest('base64')
  return signatures.split(' ').includes(`v1,${wanted}`)
}
