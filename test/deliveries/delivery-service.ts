import { subscriptions } from '#functions/subscriptions.ts'
import type { SubscriberRequest, SubscriberResponse } from '#shared/deliveries/call-subscriber.ts'
import { createDeliveries } from '#shared/deliveries/create-deliveries.ts'
import { asDelivery, type DeliveredEvent, type Delivery } from '#shared/deliveries/delivery.ts'
import type { QueuedDelivery } from '#shared/deliveries/schedule-delivery.ts'
import { sendDeliveries } from '#shared/deliveries/send-deliveries.ts'
import { asHealth, healthKey, type SubscriberHealth } from '#shared/deliveries/subscriber-health.ts'
import { type SweptDeliveries, sweepDeliveries } from '#shared/deliveries/sweep-deliveries.ts'
import { firstIdAt, startBudget, systemClock, timeOf } from '#shared/platform/base/clock.ts'
import type { AlertCode, JobLine, Log } from '#shared/platform/base/log.ts'
import { type Entity, type Item, keyOf } from '#shared/platform/table/keys.ts'
import type { Table, TableUse } from '#shared/platform/table/table.ts'
import type { Settings } from '#shared/settings/register.ts'
import { createSubscriber, findSubscriber, type Subscriber } from '#shared/subscribers/subscriber.ts'
import { subscriberOf } from '#test/subscribers/subscribers.ts'
import { type MovableClock, movableClock } from '#test/support/clocks.ts'
import { checkDeclared, watchedTable } from '#test/support/declared-table.ts'
import { entityItems } from '#test/support/dynamodb-client.ts'
import { localSettings } from '#test/support/settings.ts'
import { newMemoryTable, newTable, openTable } from '#test/support/tables.ts'

/** A call that a subscriber received. */
interface Received {
  subscriber: string
  url: string
  eventId: string
  body: string
  /** Milliseconds since 1970. */
  at: number
}

type Respond = (
  request: SubscriberRequest,
  received: Received,
) => SubscriberResponse | Promise<SubscriberResponse>

interface Queued {
  body: string
  dueAt: number
  receives: number
}

/** The functions of deliveries on a table, with a queue in memory and subscribers that a test plays. */
export interface DeliveryService {
  settings: Settings
  clock: MovableClock
  table: Table
  tableName: string
  alerts: AlertCode[]
  /** The subscribers that the alerts name. */
  alertsAbout: Parameters<Log['alert']>[2][]
  /** The lines of jobs in the log. */
  jobs: JobLine[]
  received: Received[]
  /** The bodies of messages that failed too often. */
  deadLetters: string[]
  /** The faults of runs of the sweep. */
  sweepFaults: unknown[]
  blocked: Set<string>
  /** How subscribers respond; 200 without a body at first. */
  respond: Respond
  /** MadeCall before each send to the queue; it may throw. */
  beforeSend: () => void
  /** Whether the queue accepts no message. */
  queueIsFull: boolean
  /** Stores a subscriber. */
  add(changes?: Partial<Subscriber>): Promise<Subscriber>
  change(subscriber: Subscriber, changes: Partial<Subscriber>): Promise<Subscriber>
  subscriber(subscriber: Subscriber): Promise<Subscriber | undefined>
  health(subscriber: Subscriber): Promise<SubscriberHealth | undefined>
  /** Publishes an event of a tenant on the bus. */
  publish(event?: Partial<DeliveredEvent> & { tenant?: string }): Promise<DeliveredEvent>
  /** Runs the sender on all messages that are due, also on those that it sends for now. */
  run(): Promise<void>
  /** Moves the clock to each message, and to the runs of the sweep that find something, for a time. */
  runFor(seconds: number): Promise<void>
  sweep(): Promise<SweptDeliveries>
  /** Works after the next run of the sweep has sent messages, and before it removes their entries. */
  beforeRemoval(work: () => Promise<void>): void
  /** The messages in the queue. */
  queued(): { delaySeconds: number; attempt: number }[]
  put(message: QueuedDelivery): void
  deliveries(tenant?: string): Promise<Delivery[]>
  waiting(tenant?: string): Promise<Item[]>
  audit(tenant?: string): Promise<Item[]>
}

/** The time of the tests: after that of `subscriberOf`. */
export const startTime = Date.parse('2026-03-01T12:00:00Z')
const maxReceives = 5
const sweepMilliseconds = 60_000

/** Returns what a function declares to do with the table. */
function declaredBy(name: string): TableUse {
  const declared = subscriptions.find((one) => one.name === name)?.table
  if (!declared) throw new Error(`there is no function ${name}`)
  return declared
}

/** The local settings without the random part of pauses. */
export const steadySettings: Settings = {
  ...localSettings,
  'deliveries.schedule': { ...localSettings['deliveries.schedule'], jitter: 0 },
}

interface Options {
  settings?: Settings
  clock?: MovableClock
  /** A new table without it. */
  tableName?: string
  /** The table as the functions use it, if it differs. */
  ofFunctions?: Table
  /** For tests of days, which read much. */
  inMemory?: boolean
}

export async function startDeliveries({
  settings = steadySettings,
  clock = movableClock(startTime),
  inMemory = false,
  ...options
}: Options = {}): Promise<DeliveryService> {
  const tableName = options.tableName ?? (await (inMemory ? newMemoryTable() : newTable()))
  // The clock of the test goes on by days, and the budget is of the real time.
  const table = openTable(tableName, { clock, budget: startBudget(systemClock, 3_600_000) })
  let queue: Queued[] = []
  let events = 0
  const put = ({ body, delaySeconds = 0 }: QueuedDelivery) => {
    queue.push({ body, dueAt: clock.now() + delaySeconds * 1000, receives: 0 })
  }
  const send = async (messages: readonly QueuedDelivery[]) => {
    service.beforeSend()
    if (!service.queueIsFull) messages.forEach(put)
    return messages.map(() => service.queueIsFull)
  }
  const contextOf = (name: `deliveries.${string}`) => ({
    table: watchedTable(options.ofFunctions ?? table, (call, kind) =>
      checkDeclared({ name, use: declaredBy(name), file: 'functions/subscriptions.ts' }, call, kind),
    ),
    clock,
    settings,
    now: () => clock.now(),
    isBlocked: async (tenant: string) => service.blocked.has(tenant),
    log: {
      alert(code, _, about) {
        service.alerts.push(code)
        service.alertsAbout.push(about)
      },
      job: (line) => service.jobs.push(line),
    } satisfies Pick<Log, 'alert' | 'job'> as never,
  })

  async function runBatch(batch: Queued[]): Promise<void> {
    const bodies = batch.map((message) => {
      message.receives += 1
      return message.body
    })
    const outcomes = await Promise.allSettled(
      sendDeliveries(bodies, contextOf('deliveries.send'), {
        async call(request) {
          const { event_id: eventId } = JSON.parse(request.body)
          const { subscriber = '' } = request.headers
          const received = { subscriber, url: request.url, eventId, body: request.body, at: clock.now() }
          service.received.push(received)
          return service.respond(request, received)
        },
        sign: async ({ id }, { eventId, at }) => ({ subscriber: id, signed: `${eventId} ${at}` }),
        send,
      }),
    )
    const failed = batch.filter((_, index) => outcomes[index]?.status === 'rejected')
    for (const message of failed) {
      if (message.receives < maxReceives) queue.push({ ...message, dueAt: clock.now() })
      else service.deadLetters.push(message.body)
    }
  }

  const itemsOf = (tenant: string, entity: Entity) => entityItems(tableName, tenant, entity)

  /** Returns the time of the first run of the sweep that finds something. */
  async function firstDue(): Promise<number> {
    const times = (await itemsOf('acme', 'waiting_delivery')).map(({ sk }) => timeOf(sk.split('#')[1] ?? ''))
    return Math.ceil(Math.min(...times) / sweepMilliseconds) * sweepMilliseconds
  }

  const service: DeliveryService = {
    settings,
    clock,
    table,
    tableName,
    alerts: [],
    alertsAbout: [],
    jobs: [],
    received: [],
    deadLetters: [],
    sweepFaults: [],
    blocked: new Set(),
    respond: () => ({ status: 200, answer: '' }),
    beforeSend: () => {},
    queueIsFull: false,
    async add(changes = {}) {
      const subscriber = subscriberOf(changes)
      await table.transact(createSubscriber(subscriber))
      return subscriber
    },
    async change(subscriber, changes) {
      const { id, tenant_id: tenant } = subscriber
      const updated_at = new Date(clock.now()).toISOString()
      const changed = { ...subscriber, updated_at, ...changes }
      await table.put({ item: { ...keyOf(tenant, 'subscriber', id), ...changed }, condition: 'none' })
      return changed
    },
    subscriber: ({ id, tenant_id: tenant }) => findSubscriber(table, { tenant, subscriber: id }),
    health: async ({ id, tenant_id: tenant }) =>
      asHealth(await table.get(healthKey({ tenant, subscriber: id }))),
    async publish({ tenant = 'acme', ...changes } = {}) {
      events += 1
      const event = {
        event_id: `event-${events}`,
        type: 'order.placed',
        version: 1,
        occurred_at: new Date(clock.now()).toISOString(),
        source: 'commerce-api' as const,
        correlation_id: `request-${events}`,
        data: { id: `order-${events}`, tenant_id: tenant },
        ...changes,
      }
      await Promise.all(
        createDeliveries([JSON.stringify({ detail: event })], contextOf('deliveries.create'), send),
      )
      return event
    },
    async run() {
      for (;;) {
        const batch = queue.filter(({ dueAt }) => dueAt <= clock.now()).slice(0, 10)
        if (batch.length === 0) return
        queue = queue.filter((one) => !batch.includes(one))
        await runBatch(batch)
      }
    },
    async runFor(seconds) {
      const end = clock.now() + seconds * 1000
      await service.run()
      for (let sweptAt = 0; ; ) {
        const nextSweep = Math.max(await firstDue(), sweptAt + sweepMilliseconds)
        const next = Math.min(nextSweep, ...queue.map(({ dueAt }) => dueAt))
        if (next > end) break
        clock.advance(Math.max(0, next - clock.now()))
        if (clock.now() >= nextSweep) {
          // The next run replaces one that failed.
          await service.sweep().catch((fault: unknown) => service.sweepFaults.push(fault))
          sweptAt = clock.now()
        }
        await service.run()
      }
      clock.advance(Math.max(0, end - clock.now()))
    },
    beforeRemoval(work) {
      const { transact } = table
      table.transact = async (changes) => {
        table.transact = transact
        await work()
        return transact(changes)
      }
    },
    sweep: () => sweepDeliveries(contextOf('deliveries.sweep'), send),
    queued: () =>
      queue.map(({ body, dueAt }) => ({
        delaySeconds: (dueAt - clock.now()) / 1000,
        attempt: JSON.parse(body).attempt,
      })),
    put,
    deliveries: async (tenant = 'acme') => (await itemsOf(tenant, 'delivery')).map(asDelivery),
    waiting: (tenant = 'acme') => itemsOf(tenant, 'waiting_delivery'),
    audit: (tenant = 'acme') => itemsOf(tenant, 'audit'),
  }
  return service
}

/** Returns an id of a subscriber. */
export function subscriberId(number: number): string {
  return firstIdAt(Date.parse('2026-01-01T00:00:00Z') + number)
}
