import { afterAll, afterEach, beforeEach, expect, test } from '@jest/globals'
import { startDynamodbProxy } from '#test/faults/dynamodb-proxy.ts'
import type { Call, Fault } from '#test/faults/faults.ts'
import { bundleFunctions } from '#test/faults/function-process.ts'
import { sendEvent } from '#test/support/received-events.ts'
import { startService } from '#test/support/service.ts'
import { localSettings } from '#test/support/settings.ts'
import { eventOf } from '#test/support/signed-events.ts'
import { createTable } from '#test/support/tables.ts'
import { uniqueTenant } from '#test/support/unique-tenant.ts'
import { startFakeAws } from '../support/fake-aws.ts'

let tenant: string
/** What the function asked of the queue for messages that failed. */
const postponed: Record<string, unknown>[] = []

const proxy = await startDynamodbProxy(process.env.DYNAMODB_ENDPOINT ?? '')
const queue = await startFakeAws({
  'AmazonSQS.ChangeMessageVisibility': (input) => {
    postponed.push(input)
    return {}
  },
})
const service = await startService({ tableName: await createTable() })
const functions = await bundleFunctions({ handle: 'webhooks/handle-event' }, localSettings, {
  AWS_ENDPOINT_URL: queue.endpoint,
  AWS_ENDPOINT_URL_DYNAMODB: proxy.endpoint,
  WEBHOOKS_QUEUE_URL: `${queue.endpoint}/webhooks`,
  TABLE_NAME: service.tableName,
})
beforeEach(() => {
  tenant = uniqueTenant('handled')
  postponed.length = 0
})
afterEach(async () => {
  await functions.killAll()
  proxy.reset()
})
afterAll(async () => {
  await functions.stop()
  await Promise.all([proxy.stop(), queue.stop()])
})

/** A refund that waits for its event; the profile’s provider leaves those of ch_pending_… pending. */
async function pendingRefund(): Promise<string> {
  const answer = await service.call({
    method: 'POST',
    path: '/v1/refunds',
    as: { tenant },
    headers: { 'Idempotency-Key': crypto.randomUUID() },
    body: { charge_id: 'ch_pending_1', amount: 5 },
  })
  return answer.json.id
}

async function receive(
  type: string,
  data: Record<string, unknown> & { id: string },
  more: object = {},
): Promise<string> {
  const event = eventOf(type, data, more)
  await sendEvent(service, event)
  return event.event_id
}

const messages = (ids: string[]) => ({
  Records: ids.map((body) => ({
    messageId: `of-${body}`,
    receiptHandle: `handle-of-${body}`,
    body,
    attributes: { ApproximateReceiveCount: '1' },
  })),
})

const kills: [string, Fault][] = [
  ['before its transaction reached the table', 'hold-request'],
  ['after its transaction took effect', 'hold'],
]

test.each(kills)('a handler killed %s: the next one results in one ledger entry', async (_, fault) => {
  const id = await pendingRefund()
  const batch = messages([
    await receive('refund.succeeded', { id }),
    await receive('refund.succeeded', { id }),
  ])
  // Each attempt: a busy machine may kill it only after three seconds, when it makes another one.
  const when = ({ operation }: Call) => operation === 'TransactWriteItems'
  const held = proxy.inject({ when, times: Number.POSITIVE_INFINITY, fault })
  const target = await functions.start('handle')
  target.begin(batch)
  await held.injected
  await target.kill()
  proxy.reset()
  expect(await service.items(tenant, 'ledger')).toHaveLength(fault === 'hold' ? 1 : 0)

  const successor = await functions.start('handle')
  for (let n = 0; n < 2; n += 1) expect(await successor.send(batch)).toEqual({ batchItemFailures: [] })
  const ledger = await service.items(tenant, 'ledger')
  expect(ledger.map(({ refund_id }) => refund_id)).toEqual([id])
})

test('poison events of a batch are redelivered alone with a delay, and all others are handled', async () => {
  const refunds = [await pendingRefund(), await pendingRefund(), await pendingRefund()].toSorted()
  const poisons = [
    await receive('refund.succeeded', { id: 'unknown' }),
    await receive('order.paid', { id: 'unknown' }),
    await receive('cart.updated', { id: 'c', tenant_id: tenant }, { version: 2 }),
  ]
  const sound = await Promise.all(refunds.map((id) => receive('refund.succeeded', { id })))
  const mixed = poisons.flatMap((poison, at) => [poison, sound[at] as string])
  const worker = await functions.start('handle')
  const reply = await worker.send(messages(mixed))
  expect(reply.batchItemFailures).toEqual(poisons.map((id) => ({ itemIdentifier: `of-${id}` })))
  // In any order; a call that was not answered in time is repeated.
  const handles = new Set(postponed.map(({ ReceiptHandle }) => ReceiptHandle))
  expect(handles).toEqual(new Set(poisons.map((id) => `handle-of-${id}`)))
  for (const { VisibilityTimeout } of postponed) expect(VisibilityTimeout).toBeGreaterThan(0)
  const ledger = await service.items(tenant, 'ledger')
  expect(ledger.map(({ refund_id }) => refund_id)).toEqual(refunds)
})
