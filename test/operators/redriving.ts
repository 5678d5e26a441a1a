import { createHash } from 'node:crypto'
import type { DynamoDBBatchResponse, DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda'
import { deadLettersAt } from '#bin/commands/dead-letters.ts'
import {
  eventText,
  type Redrive,
  type Redriven,
  redriveStream,
  redriveWindow,
  type StreamSource,
} from '#bin/commands/redrive/redrive-stream.ts'
import { tableChanges } from '#bin/commands/redrive/table-changes.ts'
import type { Window } from '#bin/commands/replay.ts'
import type { PublishedEvent } from '#shared/platform/events/outbox.ts'
import { type DynamodbProxy, startDynamodbProxy } from '#test/faults/dynamodb-proxy.ts'
import { type Service, startService } from '#test/support/service.ts'
import { eventOf, signed } from '#test/support/signed-events.ts'
import { streamOf, type TableStream } from '#test/support/table-stream.ts'
import { createTable } from '#test/support/tables.ts'
import { startFakeAws } from '../support/fake-aws.ts'
import { type FakeQueue, fakeQueue } from '../support/fake-queue.ts'

type Handler = (event: DynamoDBStreamEvent) => Promise<DynamoDBBatchResponse>

/** The service with its table's stream, a bus and queues, and the dependencies of redrive. */
interface Redriving {
  service: Service
  stream: TableStream
  /** The proxy between the command and the table with its stream. */
  proxy: DynamodbProxy
  dead: FakeQueue
  /** The published events and the queued tasks, in order. */
  published: PublishedEvent[]
  queued: string[]
  /** The ids of resources whose events the bus rejects. */
  refused: Set<string>
  /** The functions of the stream, in this process. */
  handlers: Record<StreamSource, Handler>
  /** Runs the command with these functions instead of AWS Lambda. */
  redrive(source?: StreamSource): Promise<Redriven>
  /** Runs it for the changes of a time, without dead letters. */
  redriveWindow(window: Window, source?: StreamSource): ReturnType<typeof redriveWindow>
  place(count: number): Promise<string[]>
  /** Receives an event of another service that has a task. @returns the queued messages */
  receive(): Promise<string>
  /** Clears the published events and queued tasks. */
  reset(): void
  stop(): Promise<void>
}

const local = { region: 'us-east-1', credentials: { accessKeyId: 'local', secretAccessKey: 'local' } }

export async function startRedriving(): Promise<Redriving> {
  const [published, queued, refused]: [PublishedEvent[], string[], Set<string>] = [[], [], new Set()]
  const dead = fakeQueue()
  const aws = await startFakeAws({
    ...dead.operations,
    'AWSEvents.PutEvents'({ Entries }) {
      const events = (Entries as { Detail: string }[]).map(({ Detail }): PublishedEvent => JSON.parse(Detail))
      const taken = events.filter(({ data }) => !refused.has(data.id))
      published.push(...taken)
      return {
        Entries: events.map((one) => (taken.includes(one) ? { EventId: 'e' } : { ErrorCode: 'Busy' })),
      }
    },
    'AmazonSQS.SendMessageBatch'({ Entries }) {
      const sent = Entries as { Id: string; MessageBody: string }[]
      queued.push(...sent.map(({ MessageBody }) => MessageBody))
      const md5 = (text: string) => createHash('md5').update(text).digest('hex')
      return {
        Successful: sent.map(({ Id, MessageBody }) => ({
          Id,
          MessageId: Id,
          MD5OfMessageBody: md5(MessageBody),
        })),
      }
    },
  })
  Object.assign(process.env, {
    AWS_ENDPOINT_URL: aws.endpoint,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    EVENT_BUS_NAME: 'bus',
    WEBHOOKS_QUEUE_URL: `${aws.endpoint}/webhooks`,
    // Failures are intended here.
    POWERTOOLS_LOG_LEVEL: 'SILENT',
  })
  const handlers: Redriving['handlers'] = {
    outbox: (await import('#functions/platform/relay-events/handler.ts')).handler,
    tasks: (await import('#functions/platform/enqueue-tasks/handler.ts')).handler,
  }
  const service = await startService({ tableName: await createTable() })
  const stream = await streamOf(service.tableName)
  const proxy = await startDynamodbProxy(process.env.DYNAMODB_ENDPOINT ?? '')
  const post = (path: string, body: string, headers: Record<string, string>) =>
    service.call({ method: 'POST', path, as: { tenant: 'redriven' }, headers, body })
  const dependencies = (source: StreamSource): Redrive => ({
    letters: deadLettersAt(`${aws.endpoint}/dead`, { ...local, endpoint: aws.endpoint }),
    changes: tableChanges(service.tableName, { ...local, endpoint: proxy.endpoint }),
    async handle(records) {
      const { batchItemFailures } = await handlers[source](JSON.parse(eventText(records)))
      if (batchItemFailures.length > 0) throw new Error('the function could not handle all')
    },
    now: Date.now,
  })
  return {
    service,
    stream,
    proxy,
    dead,
    published,
    queued,
    refused,
    handlers,
    redrive: (source = 'outbox') => redriveStream(source, dependencies(source)),
    redriveWindow: (window, source = 'outbox') => redriveWindow(source, window, dependencies(source)),
    async place(count) {
      const body = JSON.stringify({ cart_id: 'c', amount_minor: 1, currency: 'EUR' })
      const ids: string[] = []
      for (let n = 0; n < count; n += 1) {
        const { json } = await post('/v1/orders', body, { 'Idempotency-Key': crypto.randomUUID() })
        ids.push(json.id)
      }
      return ids
    },
    async receive() {
      const event = eventOf('cart.emptied', { id: 'c' })
      const body = JSON.stringify(event)
      const call = { method: 'POST', path: '/v1/webhooks/events', headers: signed(body), body }
      const { status } = await service.call(call)
      if (status !== 202) throw new Error(`the event was answered ${status}`)
      return event.event_id
    },
    reset() {
      published.length = 0
      queued.length = 0
      refused.clear()
      dead.empty()
      proxy.reset()
    },
    async stop() {
      await Promise.all([aws.stop(), proxy.stop()])
    },
  }
}

/** Returns the changes of the stream from the first to the last of these items. */
export function around(records: readonly DynamoDBRecord[], ids: readonly string[]): DynamoDBRecord[] {
  const places = records.flatMap(({ dynamodb }, at) =>
    ids.some((id) => JSON.stringify(dynamodb?.Keys).includes(id)) ? [at] : [],
  )
  return records.slice(places[0], (places.at(-1) ?? 0) + 1)
}

/** Returns a message of the on-failure destination of a stream, for changes within five seconds. */
export function messageOf(stream: TableStream, records: readonly DynamoDBRecord[], changes: object = {}) {
  const now = Date.now()
  const ago = (seconds: number) => new Date(now - seconds * 1000).toISOString().replace(/\.\d+Z/, 'Z')
  return {
    requestContext: {
      requestId: crypto.randomUUID(),
      functionArn: 'arn:aws:lambda:us-east-1:000000000000:function:relay',
      condition: 'RetryAttemptsExhausted',
      approximateInvokeCount: 31,
    },
    responseContext: { statusCode: 200, executedVersion: '$LATEST', functionError: 'Unhandled' },
    version: '1.0',
    timestamp: new Date(now).toISOString(),
    DDBStreamBatchInfo: {
      shardId: stream.shardId,
      startSequenceNumber: records[0]?.dynamodb?.SequenceNumber,
      endSequenceNumber: records.at(-1)?.dynamodb?.SequenceNumber,
      approximateArrivalOfFirstRecord: ago(5),
      approximateArrivalOfLastRecord: ago(0),
      batchSize: records.length,
      streamArn: stream.arn,
      ...changes,
    },
  }
}
