import type { SubscriberResponse } from '#shared/deliveries/call-subscriber.ts'
import { createDeliveries } from '#shared/deliveries/create-deliveries.ts'
import type { QueuedDelivery } from '#shared/deliveries/schedule-delivery.ts'
import { sendDeliveries } from '#shared/deliveries/send-deliveries.ts'
import { sweepDeliveries } from '#shared/deliveries/sweep-deliveries.ts'
import { startBudget, systemClock, timestamp } from '#shared/platform/base/clock.ts'
import type { Table } from '#shared/platform/table/table.ts'
import { createSubscriber } from '#shared/subscribers/subscriber.ts'
import { subscriberOf } from '#test/subscribers/subscribers.ts'
import type { Service } from '#test/support/service.ts'
import { type Cost, metered } from './meter.ts'

/** The cost of work on deliveries. */
export interface DeliveryCost extends Cost {
  /** The messages that it sends to the queue of deliveries. */
  messages: number
}

/** Measures what the deliveries of an event to subscribers cost. */
export async function deliveryCosts(endpoint: string): Promise<DeliveryCost[]> {
  let messages: number[] = []
  // DynamoDB Local charges nothing for a read that finds nothing, DynamoDB one unit.
  const missed: number[] = []
  const costs = await metered(endpoint, async ({ service, measureWork }) => {
    const open = () =>
      countMissed(service.runtime.openTable(startBudget(systemClock, 600_000)), (count) => {
        missed.push((missed.pop() ?? 0) + count)
      })
    messages = await runDeliveries(service, open, (what, work) => {
      missed.push(0)
      return measureWork(what, work)
    })
  })
  return costs.map((cost, index) => ({
    ...cost,
    readUnits: cost.readUnits + (missed[index] ?? 0),
    messages: messages[index] ?? 0,
  }))
}

/** Counts reads that find nothing. */
function countMissed(table: Table, count: (missed: number) => void): Table {
  return {
    ...table,
    async get(key) {
      const item = await table.get(key)
      if (!item) count(1)
      return item
    },
    async getMany(keys) {
      const items = await table.getMany(keys)
      count(keys.length - items.length)
      return items
    },
    async readRange(range) {
      const page = await table.readRange(range)
      if (page.items.length === 0) count(1)
      return page
    },
  }
}

/**
 * Runs each kind of work on deliveries once, on a table without subscribers.
 * @param measure called with each of them
 * @returns the messages that each sends
 */
export async function runDeliveries(
  { runtime, table: unmeasured }: Service,
  open: () => Table,
  measure: (what: string, work: () => Promise<unknown>) => Promise<unknown>,
): Promise<number[]> {
  const messages: number[] = []
  let queue: QueuedDelivery[] = []
  const send = async (sent: readonly QueuedDelivery[]) => {
    queue.push(...sent)
    return sent.map(() => false)
  }
  // The time stands still, so a slow machine does the same work.
  const start = systemClock.now()
  let late = 0
  let { settings } = runtime
  const context = (table = open()) => {
    const clock = { ...systemClock, now: () => start + late }
    return { ...runtime, settings, table, clock, now: clock.now }
  }
  const run = async (what: string, work: () => Promise<unknown>) => {
    queue = []
    await measure(what, work)
    messages.push(queue.length)
  }
  const fanOut = () => Promise.all(createDeliveries([JSON.stringify({ detail: event })], context(), send))
  const sweep = (table = open()) => sweepDeliveries(context(table), send)
  const deliver = (response: SubscriberResponse) => {
    const bodies = queue.map(({ body }) => body)
    const sending = { call: async () => response, sign: async () => ({}), send }
    return () => Promise.all(sendDeliveries(bodies, context(), sending))
  }
  const ok = { status: 200, answer: 'ok' }
  const failing = { status: 500, answer: 'sorry' }
  const event = {
    event_id: 'b6f7c5f2-3a7e-5c1d-8a44-6f0f5a1d9a01',
    type: 'order.placed',
    version: 1,
    occurred_at: timestamp(start),
    source: 'commerce-api' as const,
    correlation_id: '0d9cf7a6-58a5-4b0c-9ad3-7b7f4f3f7c11',
    data: {
      ...{ id: '0192f3a4-5b6c-7d8e-9f01-23456789ab00', tenant_id: 'acme', status: 'placed' },
      ...{ cart_id: 'cart-0123456789abcdef', amount_minor: 1999, currency: 'EUR' },
    },
  }

  await sweep(unmeasured)
  await run('sweep no subscribers', () => sweep())
  // Another id could share its partition with the slots of the tenant, which would add to the load of both.
  const subscriber = subscriberOf({ id: '0192f3a4-5b6c-7d8e-9f01-23456789ab01' })
  await unmeasured.transact(createSubscriber(subscriber))
  await sweep(unmeasured)
  await run('sweep a subscriber without waiting deliveries', () => sweep())
  await run('queue the delivery of an event', fanOut)
  await run('deliver it at the first attempt', deliver(ok))
  event.event_id = 'b6f7c5f2-3a7e-5c1d-8a44-6f0f5a1d9a02'
  await fanOut()
  await run('fail to deliver, the first time', deliver(failing))
  await run('fail again', deliver(failing))
  await run('fail again, with a retry that waits in the table', deliver(failing))
  late = 3_600_000
  await run('queue a waiting delivery, with the sweep of its subscriber', () => sweep())
  await run('deliver it at a later attempt', deliver(ok))
  event.event_id = 'b6f7c5f2-3a7e-5c1d-8a44-6f0f5a1d9a03'
  const schedule = settings['deliveries.schedule']
  settings = { ...settings, 'deliveries.schedule': { ...schedule, retriesAfterSeconds: [] } }
  await fanOut()
  await run('fail for the last time, at the first attempt', deliver(failing))
  return messages
}

/** Returns the section of the benchmark's page. */
export function deliveriesAsMarkdown(costs: readonly DeliveryCost[]): string {
  const rows = costs.map(
    ({ request, requests, readUnits, tableWriteUnits, indexEntries, messages }) =>
      `| ${request} |  | ${requests} | ${readUnits} | ${tableWriteUnits} | ${indexEntries} | ${messages} |`,
  )
  return `## Deliveries to subscribers

Units at DynamoDB as above, for an event whose body has about 400 bytes, and messages that are sent to the queue of deliveries.
A read that finds nothing is counted as one unit, which DynamoDB charges and DynamoDB Local does not.

| Work | Status | Requests | Read units | Write units | Index entries | Messages |
|---|---|---|---|---|---|---|
${rows.join('\n')}
`
}
