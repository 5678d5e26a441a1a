import { expect, test } from '@jest/globals'
import { handleEvent } from '#shared/webhooks/handle-event.ts'
import { declaredTable } from '#test/support/declared-table.ts'
import { eventsOf } from '#test/support/item-events.ts'
import { startService } from '#test/support/service.ts'
import { signed } from '#test/support/signed-events.ts'

const trace = {
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  tracestate: 'a=b',
  baggage: 'shop=one',
}

const service = await startService()

async function placeOrder(tenant: string, headers = {}): Promise<string> {
  const { json } = await service.call({
    method: 'POST',
    path: '/v1/orders',
    as: { tenant, role: 'Editor' },
    headers: { 'Idempotency-Key': 'k', ...headers },
    body: { cart_id: 'c', amount_minor: 1, currency: 'EUR' },
  })
  return json.id
}

async function eventsOfOrder(tenant: string) {
  const [order] = await service.items(tenant, 'order')
  return order ? eventsOf(order) : []
}

test('an event contains the trace of its request', async () => {
  await placeOrder('requested', trace)
  expect(await eventsOfOrder('requested')).toContainEqual(expect.objectContaining(trace))
})

test('an event contains the trace of the event that caused it', async () => {
  const id = await placeOrder('caused')
  const event = {
    event_id: 'traced-1',
    type: 'order.paid',
    occurred_at: new Date().toISOString(),
    data: { id, tenant_id: 'caused' },
    ...trace,
  }
  const body = JSON.stringify(event)
  const headers = signed(body)
  const received = await service.call({ method: 'POST', path: '/v1/webhooks/events', headers, body })
  expect(received.status).toBe(202)
  await handleEvent(event.event_id, {
    ...service.runtime,
    table: declaredTable('webhooks.handle', service.table),
  })
  expect(await eventsOfOrder('caused')).toContainEqual(
    expect.objectContaining({ type: 'order.paid', ...trace }),
  )
})
