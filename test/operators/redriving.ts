import type { DynamoDBBatchResponse, DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda'
import { deadLettersAt } from '#bin/commands/dead-letters/dead-letters.ts'
import {
  eventText,
  type Redrive,
  type Redriven,
  redriveStream,
  redriveWindow,
  type StreamSource,
} from '#bin/commands/dead-letters/redrive-stream.ts'
import { tableChanges } from '#bin/commands/dead-letters/table-changes.ts'
import type { TimeRange } from '#bin/commands/events/replay.ts'
import type { PublishedEvent } from '#shared/platform/events/outbox.ts'
import { type DynamodbProxy, startDynamodbProxy } from '#test/faults/dynamodb-proxy.ts'
import { startFakeBus } from '#test/support/fake-bus.ts'
import { placeOrder } from '#test/support/place-order.ts'
import { sendEvent } from '#test/support/received-events.ts'
import { type Service, startService } from '#test/support/service.ts'
import { eventOf } from '#test/support/signed-events.ts'
import { streamOf, type TableStream } from '#test/support/table-stream.ts'
import { createTable } from '#test/support/tables.ts'
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
  published(): PublishedEvent[]
  queued: string[]
  /** The ids of resources whose events the bus rejects. */
  refused: Set<string>
  /** The functions of the stream, in this process. */
  handlers: Record<StreamSource, Handler>
  /** Runs the command with these functions instead of AWS Lambda. */
  redrive(source?: StreamSource, now?: () => number): Promise<Redriven>
  /** Runs it for the changes of a time, without dead letters. */
  redriveWindow(window: TimeRange, source?: StreamSource): ReturnType<typeof redriveWindow>
  place(count: number): Promise<string[]>
  /** Receives an event of another service that has a task. @returns the queued messages */
  receive(): Promise<string>
  /** Clears the published events and queued tasks. */
  reset(): void
  stop(): Promise<void>
}

export async function startRedriving(): Promise<Redriving> {
  const refused = new Set<string>()
  const dead = fakeQueue()
  const bus = await startFakeBus(dead.operations)
  bus.setAside = (body) => void dead.put(JSON.parse(body))
  bus.accepts = (text) => ![...refused].some((id) => text.includes(id))
  const handlers: Redriving['handlers'] = {
    outbox: (await import('#functions/platform/relay-events/handler.ts')).handler,
    tasks: (await import('#functions/platform/enqueue-tasks/handler.ts')).handler,
  }
  const service = await startService({ tableName: await createTable() })
  const stream = await streamOf(service.tableName)
  const proxy = await startDynamodbProxy(process.env.DYNAMODB_ENDPOINT ?? '')
  const dependencies = (source: StreamSource): Redrive => ({
    letters: deadLettersAt(`${bus.endpoint}/dead`, bus.access),
    changes: tableChanges(service.tableName, { ...bus.access, endpoint: proxy.endpoint }),
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
    published: () => bus.events.map(({ Detail }): PublishedEvent => JSON.parse(Detail)),
    queued: bus.messages,
    refused,
    handlers,
    redrive: (source = 'outbox', now = Date.now) => redriveStream(source, { ...dependencies(source), now }),
    redriveWindow: (window, source = 'outbox') => redriveWindow(source, window, dependencies(source)),
    async place(count) {
      const ids: string[] = []
      while (ids.length < count) ids.push((await placeOrder(service, 'redriven')).json.id)
      return ids
    },
    async receive() {
      const event = eventOf('cart.emptied', { id: 'c' })
      const { status } = await sendEvent(service, event)
      if (status !== 202) throw new Error(`the event was answered ${status}`)
      return event.event_id
    },
    reset() {
      bus.events.length = 0
      bus.messages.length = 0
      refused.clear()
      dead.empty()
      proxy.reset()
    },
    async stop() {
      await Promise.all([bus.stop(), proxy.stop()])
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
export function failureOf(batch: object) {
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
      approximateArrivalOfFirstRecord: ago(5),
      approximateArrivalOfLastRecord: ago(0),
      ...batch,
    },
  }
}

/** Returns the message for changes of a stream. */
export function messageOf(stream: TableStream, records: readonly DynamoDBRecord[], changes: object = {}) {
  return failureOf({
    shardId: stream.shardId,
    startSequenceNumber: records[0]?.dynamodb?.SequenceNumber,
    endSequenceNumber: records.at(-1)?.dynamodb?.SequenceNumber,
    batchSize: records.length,
    streamArn: stream.arn,
    ...changes,
  })
}
