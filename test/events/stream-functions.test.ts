import { createHash } from 'node:crypto'
import { marshall } from '@aws-sdk/util-dynamodb'
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type { DynamoDBRecord } from 'aws-lambda'
import { handler as enqueue } from '#functions/platform/enqueue-tasks/handler.ts'
import { handler as relay } from '#functions/platform/relay-events/handler.ts'
import { type FakeAws, startFakeAws } from '#test/support/fake-aws.ts'
import { startService } from '#test/support/service.ts'

/** What the bus or the queue accepts of one call. */
let accepts: (text: string) => boolean
let accepted: string[]
const take = (text: string) => {
  if (accepts(text)) accepted.push(text)
  return accepts(text)
}
let aws: FakeAws
beforeAll(async () => {
  aws = await startFakeAws({
    'AWSEvents.PutEvents': ({ Entries }) => ({
      Entries: (Entries as { Detail: string }[]).map(({ Detail }) =>
        take(Detail) ? { EventId: 'e' } : { ErrorCode: 'ThrottlingException' },
      ),
    }),
    'AmazonSQS.SendMessageBatch': ({ Entries }) => ({
      Successful: (Entries as { Id: string; MessageBody: string }[])
        .filter(({ MessageBody }) => take(MessageBody))
        .map(({ Id, MessageBody }) => ({
          Id,
          MessageId: Id,
          MD5OfMessageBody: createHash('md5').update(MessageBody).digest('hex'),
        })),
    }),
  })
  Object.assign(process.env, {
    AWS_ENDPOINT_URL: aws.endpoint,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    EVENT_BUS_NAME: 'bus',
    POWERTOOLS_LOG_LEVEL: 'SILENT',
    WEBHOOKS_QUEUE_URL: `${aws.endpoint}/webhooks`,
  })
})
beforeEach(() => {
  accepts = () => true
  accepted = []
})
afterAll(() => aws.stop())

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
  expect(accepted).toEqual(bodies)
})

test('a task that the queue does not accept is delivered again, with those after its batch', async () => {
  accepts = (body) => body !== 'task-3'
  expect(await enqueue(recordsOf(bodies.map(taskOf)))).toEqual(failedAt('3'))
  expect(accepted).not.toContain('task-10')
})

test('an event that the bus does not accept is delivered again', async () => {
  const service = await startService()
  const body = { cart_id: 'c', amount_minor: 1, currency: 'EUR' }
  for (const key of ['a', 'b', 'c'])
    await service.call({
      method: 'POST',
      path: '/v1/orders',
      as: { tenant: 'acme' },
      headers: { 'Idempotency-Key': key },
      body,
    })
  const orders = await service.items('acme', 'order')
  accepts = (event) => !event.includes(String(orders[1]?.id))
  expect(await relay(recordsOf(orders))).toEqual(failedAt('1'))
})
