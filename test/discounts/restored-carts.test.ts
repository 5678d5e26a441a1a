import { expect, test } from '@jest/globals'
import { movableClock } from '#test/support/clocks.ts'
import { startService } from '#test/support/service.ts'
import { discountCalls, publishedLines } from './discount-calls.ts'

const clock = movableClock(Date.now())
const service = await startService({ clock })
const calls = discountCalls(service)

test('consumers know the discounts that change after the table went back to an earlier time', async () => {
  const tenant = 'went-back'
  const change = (amount: number) => calls.cart(tenant, 'c1', amount, { correlation_id: 'session-1' })
  await change(1000)
  await calls.makeCode(tenant, 'QUARTER', 'percent-25')
  await calls.verify(tenant, 'QUARTER', { 'X-Cart-Id': 'c1' })
  const [snapshot] = await service.items(tenant, 'cart')
  if (!snapshot) throw new Error('the cart was not stored')
  for (const amount of [2000, 3000, 4000]) await change(amount)
  await service.table.put({ item: snapshot, condition: 'none' })
  // No restore takes less.
  clock.advance(60_000)
  await change(800)
  const events = calls.eventsOf(tenant)
  expect(publishedLines(events)).toEqual(new Set(['QUARTER 200']))
  expect(new Set(events.map(({ event_id }) => event_id)).size).toBe(events.length)
})
