import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type { DynamoDBRecord } from 'aws-lambda'
import fc from 'fast-check'
import type { PublishedEvent } from '#shared/platform/events/outbox.ts'
import { startPaymentProvider } from '#test/support/payment-provider/payment-provider.ts'
import { type Service, startService } from '#test/support/service.ts'
import { eventOf, signed } from '#test/support/signed-events.ts'
import { streamOf, type TableStream } from '#test/support/table-stream.ts'
import { createTable } from '#test/support/tables.ts'
import { expectBalanced, ledgerOf } from '../refunds/refund-ledger-check.ts'
import { startFakeAws } from '../support/fake-aws.ts'
import { bundleFunctions, type FunctionProcess, type Functions } from './function-process.ts'
import { settingsAt } from './refund-service.ts'

/** The fault of a call of the bus or of the queue. */
type Fate =
  | 'take'
  /** Every second entry is rejected, or the entire call. */
  | 'take-some'
  | 'refuse'
  /** The caller is killed before or after the call takes effect. */
  | 'die-before'
  | 'die-after'

const fates: fc.Arbitrary<Fate> = fc.constantFrom(
  'take',
  'take',
  'take-some',
  'refuse',
  'die-before',
  'die-after',
)
const tenant = 'streamed'
const batchSize = 8

let service: Service
let stream: TableStream
let functions: Functions
/** All events of the bus and all messages of the queue, in order, duplicates included. */
const published: PublishedEvent[] = []
const queued: string[] = []
let coming: Fate[] = []
let held = Promise.withResolvers<'held'>()
let kills = 0

/** @returns whether each entry is accepted; a killed caller gets no response */
async function meet<Entry>(entries: Entry[], take: (entry: Entry) => void): Promise<boolean[]> {
  const behavior = coming.shift() ?? 'take'
  if (behavior === 'refuse') throw new Error('refused')
  const taken = entries.map(
    (_, at) => behavior !== 'die-before' && (behavior !== 'take-some' || at % 2 === 0),
  )
  for (const [at, entry] of entries.entries()) if (taken[at]) take(entry)
  if (behavior.startsWith('die')) {
    held.resolve('held')
    await new Promise(() => {})
  }
  return taken
}

const provider = await startPaymentProvider()
const aws = await startFakeAws({
  async 'AWSEvents.PutEvents'({ Entries }) {
    const taken = await meet(Entries as { Detail: string }[], ({ Detail }) =>
      published.push(JSON.parse(Detail)),
    )
    return { Entries: taken.map((is) => (is ? { EventId: 'e' } : { ErrorCode: 'ThrottlingException' })) }
  },
  async 'AmazonSQS.SendMessageBatch'({ Entries }) {
    const messages = Entries as { Id: string; MessageBody: string }[]
    const taken = await meet(messages, ({ MessageBody }) => queued.push(MessageBody))
    const successful = messages.filter((_, at) => taken[at])
    return {
      Successful: successful.map(({ Id, MessageBody }) => ({
        Id,
        MessageId: Id,
        MD5OfMessageBody: createHash('md5').update(MessageBody).digest('hex'),
      })),
      Failed: [],
    }
  },
  'AmazonSQS.ChangeMessageVisibility': () => ({}),
})
beforeAll(async () => {
  const settings = settingsAt(provider.endpoint, 5000)
  service = await startService({ settings, tableName: await createTable() })
  stream = await streamOf(service.tableName)
  functions = await bundleFunctions(
    {
      relay: 'platform/relay-events',
      enqueue: 'platform/enqueue-tasks',
      handle: 'webhooks/handle-event',
    },
    settings,
    {
      AWS_ENDPOINT_URL: aws.endpoint,
      AWS_ENDPOINT_URL_DYNAMODB: process.env.DYNAMODB_ENDPOINT ?? '',
      EVENT_BUS_NAME: 'bus',
      WEBHOOKS_QUEUE_URL: `${aws.endpoint}/webhooks`,
      TABLE_NAME: service.tableName,
    },
  )
})
beforeEach(() => {
  published.length = 0
  queued.length = 0
})
afterAll(async () => {
  await functions.stop()
  await Promise.all([aws.stop(), provider.stop()])
})

/** Delivers batches in order, like the stream: again from the first failed record, or all after a kill. */
async function deliver(name: string, records: DynamoDBRecord[], meeting: Fate[]): Promise<void> {
  coming = [...meeting]
  let worker: FunctionProcess | undefined
  for (let from = 0; from < records.length; ) {
    const batch = records.slice(from, from + batchSize)
    worker ??= await functions.start(name)
    held = Promise.withResolvers()
    const reply = await Promise.race([worker.send({ Records: batch }), held.promise])
    if (reply === 'held') {
      kills += 1
      await worker.kill()
      worker = undefined
      continue
    }
    const [failure] = reply.batchItemFailures
    const failed = batch.findIndex(({ dynamodb }) => dynamodb?.SequenceNumber === failure?.itemIdentifier)
    expect(failure === undefined || failed >= 0).toBe(true)
    from += failure ? failed : batch.length
  }
  await worker?.kill()
}

const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
async function made(path: string, body: object): Promise<string> {
  const headers = { 'Idempotency-Key': crypto.randomUUID(), traceparent }
  const answer = await service.call({ method: 'POST', path, as: { tenant }, headers, body })
  expect(answer.status).toBe(201)
  return answer.json.id
}

async function receive(event: object): Promise<void> {
  const body = JSON.stringify(event)
  const call = { method: 'POST', path: '/v1/webhooks/events', headers: signed(body), body }
  expect((await service.call(call)).status).toBe(202)
}

/** Delivers messages like the queue: unhandled ones again, one message for each batch. */
async function handleQueued(ids: string[]): Promise<void> {
  const worker = await functions.start('handle')
  const Records = ids.map((body, at) => ({
    messageId: `m${at}`,
    receiptHandle: `r${at}`,
    body,
    attributes: { ApproximateReceiveCount: '1' },
  }))
  expect(await worker.send({ Records })).toEqual({ batchItemFailures: [] })
  await worker.kill()
}

const snapshot = async () => ({
  orders: await service.items(tenant, 'order'),
  refunds: await service.items(tenant, 'refund'),
  ledger: await service.items(tenant, 'ledger'),
})
const keyOf = ({ type, data }: Pick<PublishedEvent, 'type' | 'data'>) => `${type} ${data.id}`
const firstSeen = (events: readonly PublishedEvent[]) => [
  ...new Map(events.toReversed().map((event) => [event.event_id, event])).values(),
]

test('whichever processes die, the bus gets the committed events, and their replay changes nothing', async () => {
  const meetings = fc.sample(fc.array(fates, { minLength: 20, maxLength: 20 }), {
    seed: 20_260_404,
    numRuns: 3,
  })
  const [ofQueue = [], ofBus = [], ofRest = []] = meetings

  // The calls of the service, and the events to publish.
  const orders: string[] = []
  for (let n = 0; n < 12; n += 1)
    orders.push(await made('/v1/orders', { cart_id: 'c', amount_minor: 1, currency: 'EUR' }))
  const refunds: string[] = []
  for (const charge of ['ch_ok', 'ch_pending', 'ch_ok', 'ch_pending', 'ch_ok'])
    refunds.push(await made('/v1/refunds', { charge_id: `${charge}_1`, amount: 5 }))
  const paid = orders.filter((_, at) => at % 2 === 0)
  const events = [
    ...paid.map((id) => eventOf('order.paid', { id })),
    ...refunds.map((id) => eventOf('refund.succeeded', { id })),
  ]
  for (const event of [...events, ...events]) await receive(event)
  const expected = [
    ...orders.flatMap((id) => [`order.created ${id}`, `order.placed ${id}`]),
    ...paid.map((id) => `order.paid ${id}`),
    ...refunds.map((id) => `refund.succeeded ${id}`),
  ]

  const before = await stream.read()
  await deliver('enqueue', before, ofQueue)
  expect(new Set(queued)).toEqual(new Set(events.map(({ event_id }) => event_id)))
  await handleQueued(queued)
  const after = await stream.read()
  await deliver('relay', before, ofBus)
  await deliver('relay', after, ofRest)
  expect(kills).toBeGreaterThanOrEqual(6)

  const distinct = firstSeen(published)
  expect(published.length).toBeGreaterThan(distinct.length)
  expect(distinct.map(keyOf).toSorted()).toEqual(expected.toSorted())
  for (const id of orders) {
    const ofItem = [...new Set(published.filter(({ data }) => data.id === id).map(({ type }) => type))]
    expect(ofItem).toEqual(['order.created', 'order.placed', ...(paid.includes(id) ? ['order.paid'] : [])])
  }
  expectBalanced(await ledgerOf(service, provider, tenant))

  // The archive of the bus replays all events to the service, some of them twice.
  const state = await snapshot()
  const replayed = published.toReversed()
  for (const event of replayed) await receive(event)
  queued.length = 0
  await deliver('enqueue', await stream.read(), [])
  expect(new Set(queued)).toEqual(new Set(distinct.map(({ event_id }) => event_id)))
  await handleQueued(queued)
  expect(await snapshot()).toEqual(state)
  published.length = 0
  await deliver('relay', await stream.read(), [])
  expect(published).toEqual([])
})
