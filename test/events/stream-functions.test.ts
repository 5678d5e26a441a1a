import { marshall } from '@aws-sdk/util-dynamodb'
import { afterAll, beforeEach, expect, test } from '@jest/globals'
import type { DynamoDBRecord } from 'aws-lambda'
import { handler as enqueue } from '#functions/platform/enqueue-tasks/handler.ts'
import { handler as relay } from '#functions/platform/relay-events/handler.ts'
import { startFakeBus } from '#test/support/fake-bus.ts'
import { placeOrder } from '#test/support/place-order.ts'
import { startService } from '#test/support/service.ts'

const bus = await startFakeBus()
beforeEach(() => {
  Object.assign(bus, { accepts: () => true, events: [], messages: [] })
})
afterAll(() => bus.stop())

/** Records of the stream for new items. */
const recordsOf = (items: readonly object[]) => ({
  Records: items.map((item, index) => ({
    eventName: 'INSERT' as const,
    dynamodb: { NewImage: marshall(item), SequenceNumber: String(index) } as DynamoDBRecord['dynamodb'],
  })),
})
const taskOf = (body: string) => ({ task: { queue: 'webhooks', body, group: 'acme' } })
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
