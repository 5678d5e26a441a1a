import { marshall } from '@aws-sdk/util-dynamodb'
import { expect, test } from '@jest/globals'
import { erasedEvents, rebuilt } from '#bin/commands/redrive/rebuild-events.ts'
import { timestamp } from '#shared/platform/base/clock.ts'
import { maxReplaced } from '#shared/platform/idempotency/commit.ts'
import { traceHeaders } from '#test/bench/order-costs.ts'
import { itemBytes } from '#test/support/capacity.ts'
import { placeOrder } from '#test/support/place-order.ts'
import { receiveEvent } from '#test/support/received-events.ts'
import { startService } from '#test/support/service.ts'
import { eventOf } from '#test/support/signed-events.ts'

const service = await startService()

/** Returns the bytes of the only order of a tenant, with its events. */
async function storedBytes(tenant: string): Promise<number> {
  const [item] = await service.items(tenant, 'order')
  return itemBytes(marshall(item))
}

async function place(tenant: string, headers = {}): Promise<string> {
  const body = { cart_id: 'cart-0123456789abcdef', amount_minor: 1999, currency: 'EUR' }
  return (await placeOrder(service, tenant, { key: 'k', headers, body })).json.id
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
  const id = await place('paid-order')
  await receiveEvent(service, eventOf('order.paid', { id, tenant_id: 'paid-order' }))
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
