import { expect, test } from '@jest/globals'
import { eventsOf } from '#test/support/item-events.ts'
import { placeOrder } from '#test/support/place-order.ts'
import { receiveEvent } from '#test/support/received-events.ts'
import { startService } from '#test/support/service.ts'
import { eventOf } from '#test/support/signed-events.ts'

const trace = {
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  tracestate: 'a=b',
  baggage: 'shop=one',
}

const service = await startService()

async function eventsOfOrder(tenant: string) {
  const [order] = await service.items(tenant, 'order')
  return order ? eventsOf(order) : []
}

test('an event contains the trace of its request', async () => {
  await placeOrder(service, 'requested', { headers: trace })
  expect(await eventsOfOrder('requested')).toContainEqual(expect.objectContaining(trace))
})

test('an event contains the trace of the event that caused it', async () => {
  const { id } = (await placeOrder(service, 'caused')).json
  await receiveEvent(service, eventOf('order.paid', { id, tenant_id: 'caused' }, trace))
  expect(await eventsOfOrder('caused')).toContainEqual(
    expect.objectContaining({ type: 'order.paid', ...trace }),
  )
})
