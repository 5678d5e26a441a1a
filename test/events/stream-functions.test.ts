import { marshall } from '@aws-sdk/util-dynamodb'
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { DynamoDBRecord } from 'aws-lambda'
import { eventDefinitions } from '#functions/events.ts'
import { handler as enqueue } from '#functions/platform/enqueue-tasks/handler.ts'
import { handler as relay } from '#functions/platform/relay-events/handler.ts'
import { routes } from '#functions/routes.ts'
import { steps } from '#functions/steps.ts'
import { subscriptions } from '#functions/subscriptions.ts'
import { tableUseOf } from '#lib/access/table-use.ts'
import { type PublishedEvent, taskQueues } from '#shared/platform/events/outbox.ts'
import { isEntity } from '#shared/platform/table/keys.ts'
import type { TableUse } from '#shared/platform/table/table.ts'
import { startFakeBus } from '#test/support/fake-bus.ts'
import { placeOrder } from '#test/support/place-order.ts'
import { startService } from '#test/support/service.ts'
import { localSettings } from '#test/support/settings.ts'

/** The item with the tenants that have subscribers; none at first. */
let subscribed: () => object = () => {
  throw new Error('unavailable')
}
const bus = await startFakeBus({ 'DynamoDB_20120810.GetItem': () => ({ Item: marshall(subscribed()) }) })
Object.assign(process.env, { TABLE_NAME: 'table', PUBLISHED_EVENTS_QUEUE_ARN: 'queue' })
const aside: { reason: string }[] = []
beforeEach(() => {
  aside.length = 0
  const setAside = (body: string) => void aside.push(JSON.parse(body))
  Object.assign(bus, { accepts: () => true, events: [], messages: [], setAside })
})
afterAll(() => bus.stop())

/** Records of the stream for new items. */
const recordsOf = (items: readonly object[]) => ({
  Records: items.map((item, index) => ({
    eventName: 'INSERT' as const,
    dynamodb: { NewImage: marshall(item), SequenceNumber: String(index) } as DynamoDBRecord['dynamodb'],
  })),
})
const taskOf = (body: string) => ({ pk: `inbox#${body}`, task: { queue: 'webhooks', body, group: 'acme' } })
const bodies = Array.from({ length: 12 }, (_, n) => `task-${n}`)
const failedAt = (sequenceNumber: string) => ({ batchItemFailures: [{ itemIdentifier: sequenceNumber }] })

test('the tasks of all records are queued in batches, in order', async () => {
  await enqueue(recordsOf(bodies.map(taskOf)))
  expect(bus.messages).toEqual(bodies)
})

test('a task that the queue does not accept is delivered again, with those after its batch', async () => {
  bus.accepts = (body) => body !== 'task-3'
  expect(await enqueue(recordsOf(bodies.map(taskOf)))).toEqual(failedAt('3'))
  expect(bus.messages).not.toContain('task-10')
})

test('an event that the bus does not accept is delivered again', async () => {
  const service = await startService()
  for (let n = 0; n < 3; n += 1) await placeOrder(service, 'acme')
  const orders = await service.items('acme', 'order')
  bus.accepts = (event) => !event.includes(String(orders[1]?.id))
  expect(await relay(recordsOf(orders))).toEqual(failedAt('1'))
})

test('the events of tenants that may have subscribers name the queue that looks for them', async () => {
  const service = await startService()
  for (const tenant of ['acme', 'rival']) await placeOrder(service, tenant)
  const orders = await Promise.all(['acme', 'rival'].map((tenant) => service.items(tenant, 'order')))
  const named = async () => {
    bus.events = []
    await relay(recordsOf(orders.flat()))
    return new Set(
      bus.events.map(({ Detail, Resources }) => `${JSON.parse(Detail).data.tenant_id} ${Resources}`),
    )
  }
  // The list cannot be read.
  expect(await named()).toEqual(new Set(['acme queue', 'rival queue']))
  subscribed = () => ({ tenants: ['acme'] })
  expect(await named()).toEqual(new Set(['acme queue', 'rival ']))
})

test('a task for a queue that the release does not know is set aside, and the others are queued', async () => {
  const unknown = { ...taskOf('new'), task: { queue: 'parcels', body: 'new', group: 'acme' } }
  expect(await enqueue(recordsOf([taskOf('a'), unknown, taskOf('b')]))).toEqual({ batchItemFailures: [] })
  expect([bus.messages, aside]).toEqual([
    ['a', 'b'],
    [expect.objectContaining({ reason: expect.stringContaining('parcels') })],
  ])
})

test('a task that cannot be set aside is delivered again', async () => {
  bus.accepts = (text) => !text.includes('parcels')
  const unknown = { ...taskOf('new'), task: { queue: 'parcels', body: 'new', group: 'acme' } }
  expect(await enqueue(recordsOf([taskOf('a'), unknown, taskOf('b')]))).toEqual(failedAt('1'))
  expect(bus.messages).toEqual(['a'])
})

/** Every function with the kinds of items that its role may write. */
const roles = [
  ...routes.map(({ route }) => ({ name: route.operation, table: tableUseOf(route, localSettings) })),
  ...[...subscriptions, ...steps].map(({ name, table = {} }) => ({ name, table: table as TableUse })),
].map(({ name, table }) => {
  const kinds = [...new Set([...(table.put ?? []), ...(table.insert ?? []), ...(table.update ?? [])])]
  return { name, kinds }
})

describe.each(roles.filter(({ kinds }) => kinds.length > 0))('with the role of $name', ({ kinds }) => {
  const victim = 'victim'

  /** Items of these kinds with each event and each task, as somebody writes them who has taken the function over. */
  const forged = kinds.flatMap((kind) => {
    const key = { pk: `${kind}#own#0`, sk: `forged-${kind}` }
    const outbox = (name: string) => ({
      at: 0,
      correlation_id: 'forged',
      events: [{ name, data: { id: 'forged', tenant_id: victim } }],
    })
    return [
      ...eventDefinitions.map(({ type }) => ({ ...key, outbox: outbox(`${type}.v1`) })),
      ...Object.keys(taskQueues).map((queue) => ({
        ...key,
        task: { queue, body: `${kind} ${queue}`, group: victim },
      })),
    ]
  })

  test('an event is published only from an item that may carry it, and of the tenant of its partition', async () => {
    expect(await relay(recordsOf(forged))).toEqual({ batchItemFailures: [] })
    const published = bus.events.map(({ Detail }): PublishedEvent => JSON.parse(Detail))
    const carried = eventDefinitions.filter(({ carriers }) =>
      carriers.some((kind) => kinds.includes(kind) && isEntity(kind)),
    )
    expect(new Set(published.map(({ type }) => type))).toEqual(new Set(carried.map(({ type }) => type)))
    for (const { data } of published) expect(data.tenant_id).toBe('own')
  })

  test('a task is queued only from an item whose tasks its queue takes', async () => {
    expect(await enqueue(recordsOf(forged))).toEqual({ batchItemFailures: [] })
    const taken = Object.entries(taskQueues).flatMap(([queue, { carriers }]) =>
      carriers.filter((kind) => kinds.includes(kind)).map((kind) => `${kind} ${queue}`),
    )
    expect(bus.messages.toSorted()).toEqual(taken.toSorted())
  })
})

test('with the role of otp.request, no event of an order and no task of a webhook is sent', async () => {
  const outbox = {
    at: 0,
    correlation_id: 'c',
    events: [{ name: 'order.paid.v1', data: { tenant_id: 'victim' } }],
  }
  const task = { queue: 'webhooks', body: 'evt-1', group: 'victim' }
  const records = recordsOf([{ pk: 'rate#1', sk: 'window', tenant_id: 'victim', outbox, task }])
  await relay(records)
  await enqueue(records)
  expect([bus.events, bus.messages]).toEqual([[], []])
})
