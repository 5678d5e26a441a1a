import { marshall } from '@aws-sdk/util-dynamodb'
import { expect, test } from '@jest/globals'
import { erasedEvents, rebuilt } from '#bin/commands/redrive/rebuild-events.ts'
import { timestamp } from '#shared/platform/base/clock.ts'
import { maxReplaced } from '#shared/platform/idempotency/commit.ts'
import { handleEvent } from '#shared/webhooks/handle-event.ts'
import { traceHeaders } from '#test/bench/order-costs.ts'
import { itemBytes } from '#test/support/capacity.ts'
import { declaredTable } from '#test/support/declared-table.ts'
import { startService } from '#test/support/service.ts'
import { eventOf, signed } from '#test/support/signed-events.ts'

const service = await startService()

/** Returns the bytes of the only order of a tenant, with its events. */
async function storedBytes(tenant: string): Promise<number> {
  const [item] = await service.items(tenant, 'order')
  return itemBytes(marshall(item))
}

async function place(tenant: string, headers = {}): Promise<string> {
  const { json } = await service.call({
    method: 'POST',
    path: '/v1/orders',
    as: { tenant, role: 'Editor' },
    headers: { 'Idempotency-Key': 'k', ...headers },
    body: { cart_id: 'cart-0123456789abcdef', amount_minor: 1999, currency: 'EUR' },
  })
  return json.id
}

test('an order with its events has at most 400 bytes', async () => {
  await place('small-order')
  expect(await storedBytes('small-order')).toBeLessThanOrEqual(400)
})

test('an order with a trace and 500 bytes of baggage fits into one write unit', async () => {
  await place('traced-order', traceHeaders)
  expect(await storedBytes('traced-order')).toBeLessThanOrEqual(1024)
})

test('25 paid orders with all of their events fit into three read units', async () => {
  const event = eventOf('order.paid', { id: await place('paid-order'), tenant_id: 'paid-order' })
  const body = JSON.stringify(event)
  await service.call({ method: 'POST', path: '/v1/webhooks/events', headers: signed(body), body })
  await handleEvent(event.event_id, {
    ...service.runtime,
    table: declaredTable('webhooks.handle', service.table),
  })
  expect(25 * (await storedBytes('paid-order'))).toBeLessThanOrEqual(3 * 4096)
})

test('an erased item names the time before which its lost events are not known, however often it changed', () => {
  const replaced = Array.from({ length: maxReplaced }, (_, n) => 2000 + n)
  const outbox = { id: 'a', at: 3000, correlation_id: 'c', events: ['order.paid.v1'] }
  const creation = { at: 1000, correlation_id: 'c', events: ['order.created.v1'] }
  const item = { pk: 'order#acme#0', sk: 'o', outbox: { ...outbox, creation, replaced } }
  const erased = { ...item, outbox: erasedEvents(item) }
  const { lost } = rebuilt([{ dynamodb: { NewImage: marshall(erased) } } as never], { from: 500, to: 1500 })
  expect(lost).toEqual([`order#acme#0 o: events from before ${timestamp(2001)} are not stored any more`])
})
