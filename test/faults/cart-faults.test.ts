import { expect, test } from '@jest/globals'
import { startBudget } from '#shared/platform/base/clock.ts'
import { handleEvent } from '#shared/webhooks/handle-event.ts'
import { discountCalls } from '#test/discounts/discount-calls.ts'
import { eventContext } from '#test/support/received-events.ts'
import { someOf } from '#test/support/runs.ts'
import { eventOf, signed } from '#test/support/signed-events.ts'
import type { Fault } from './faults.ts'
import { useFaultyService } from './faulty-service.ts'
import { cartWithDeletedCode, publishedBy } from './operations.ts'

const anyCall: Fault[] = [
  ...(['lose-answer', 'lose-request', 'no-answer', 'no-arrival'] as const),
  ...(['throttle', 'internal', 'unavailable'] as const),
]
const counts = [1, Number.POSITIVE_INFINITY]
const positions = [0, 1, 2, 3].flatMap((at) => counts.map((times) => [at, times] as const))
/** Each fault at each call of the handler, once and until it ends. */
const faults = [
  ...anyCall.flatMap((fault, row) =>
    someOf(positions, row).map(([at, times]) => [fault, at, times] as const),
  ),
  ...(['conflict', 'in-progress'] as const).flatMap((fault) =>
    counts.map((times) => [fault, 'the transaction', times] as const),
  ),
]

const service = await useFaultyService()
const calls = discountCalls(service)

test.each(faults)(
  'a change of a cart whose code was deleted takes effect once: %s at call %s, %d times',
  async (fault, at, times) => {
    const tenant = `cart-${faults.findIndex((one) => one[0] === fault && one[1] === at && one[2] === times)}`
    await cartWithDeletedCode(tenant, service, calls)
    const data = { id: 'c1', tenant_id: tenant, amount_minor: 1000, currency: 'EUR' }
    const occurred_at = new Date(service.clock.now() + 60_000).toISOString()
    const event = eventOf('cart.updated', data, { occurred_at })
    const body = JSON.stringify(event)
    const headers = signed(body, { at: new Date(service.clock.now()) })
    await service.call({ method: 'POST', path: '/v1/webhooks/events', headers, body })
    const handle = (milliseconds: number) => {
      const table = service.runtime.openTable(startBudget(service.clock, milliseconds))
      return handleEvent(event.event_id, eventContext(service.runtime, table))
    }
    if (at !== 'the transaction') service.inject(fault, at, times)
    else service.faults.inject({ when: ({ operation }) => operation === 'TransactWriteItems', times, fault })
    // The queue delivers an event again if its handling failed.
    await handle(700).catch(() => undefined)
    service.faults.reset()
    await handle(100_000)
    expect(await calls.linesOf(tenant, 'c1')).toEqual(['QUARTER 250'])
    expect(await publishedBy(tenant, service)).toEqual(['FIXED 0', 'QUARTER 250'])
  },
)
