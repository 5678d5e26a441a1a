import { describe, expect, test } from '@jest/globals'
import { findCart } from '#shared/carts/cart-store.ts'
import { startBudget } from '#shared/platform/base/clock.ts'
import { handleEvent } from '#shared/webhooks/handle-event.ts'
import { discountCalls } from '#test/discounts/discount-calls.ts'
import { eventsOf } from '#test/support/item-events.ts'
import { someOf } from '#test/support/runs.ts'
import { eventOf, signed } from '#test/support/signed-events.ts'
import type { Fault } from './faults.ts'
import { expectRetryable, useFaultyService } from './faulty-service.ts'

const anyCall = [
  'lose-answer',
  'lose-request',
  'no-answer',
  'no-arrival',
  'throttle',
  'internal',
  'unavailable',
] as const
const transactions = ['conflict', 'in-progress'] as const
const counts = [1, Number.POSITIVE_INFINITY]

/** Returns each fault at each call of an operation, once and until it ends. */
function faultsAt(calls: number): [Fault, at: number | 'the transaction', times: number][] {
  const positions = Array.from({ length: calls }, (_, at) => at)
  return [
    ...anyCall.flatMap((fault, row) =>
      someOf(
        positions.flatMap((at) => counts.map((times): [Fault, number, number] => [fault, at, times])),
        row,
      ),
    ),
    ...transactions.flatMap((fault) =>
      counts.map((times): [Fault, 'the transaction', number] => [fault, 'the transaction', times]),
    ),
  ]
}

const service = await useFaultyService()
const calls = discountCalls(service)
const onCart = { 'X-Cart-Id': 'c1' }
let tenants = 0

function injectFault([fault, at, times]: ReturnType<typeof faultsAt>[number]): void {
  if (at !== 'the transaction') service.inject(fault, at, times)
  else service.faults.inject({ when: ({ operation }) => operation === 'TransactWriteItems', times, fault })
}

/** Creates a cart of 600 with a fixed code and a percentage, of which the fixed code is deleted. */
async function cartWithDeletedCode(): Promise<string> {
  const tenant = `carts-${tenants++}`
  await calls.cart(tenant, 'c1', 600)
  const { json } = await calls.makeCode(tenant, 'FIXED', 'fixed-500')
  await calls.makeCode(tenant, 'QUARTER', 'percent-25')
  for (const code of ['FIXED', 'QUARTER']) await calls.verify(tenant, code, onCart)
  const as = { tenant, role: 'Admin', scope: 'codes:write' }
  await service.call({ method: 'DELETE', path: `/codes/${json.id}`, as })
  return tenant
}

/** Returns the lines of the cart, and what its last commit published. */
async function cartOf(tenant: string) {
  const cart = await findCart(service.table, tenant, 'c1')
  const events = eventsOf(cart as never)
  return {
    version: cart?.version,
    lines: await calls.linesOf(tenant, 'c1'),
    published: events.map(({ data }) => `${data.code} ${data.amount} v${data.version}`),
  }
}

describe('a verification that frees the part of a deleted code', () => {
  test.each(faultsAt(9))('takes effect once: %s at call %s, %d times', async (...injected) => {
    const tenant = await cartWithDeletedCode()
    const verify = (headers = {}) =>
      calls.verify(tenant, 'QUARTER', { ...onCart, 'Idempotency-Key': 'k', ...headers }, { sub: 'u' })
    injectFault(injected)
    const first = await verify(injected[2] === 1 ? {} : { 'X-Request-Timeout': '700' })
    service.endFaults(injected[0])
    const again = await verify()
    if (first.status !== 200) expectRetryable(first)
    expect(again.json).toEqual({ applied: true, amount: 150 })
    expect(await cartOf(tenant)).toEqual({
      version: 4,
      lines: ['QUARTER 150'],
      published: ['FIXED 0 v4', 'QUARTER 150 v4'],
    })
  })
})

describe('a change of a cart whose code was deleted', () => {
  test.each(faultsAt(4))('takes effect once: %s at call %s, %d times', async (...injected) => {
    const tenant = await cartWithDeletedCode()
    const data = { id: 'c1', tenant_id: tenant, amount_minor: 1000, currency: 'EUR' }
    const occurred_at = new Date(service.clock.now() + 60_000).toISOString()
    const event = eventOf('cart.updated', data, { occurred_at })
    const body = JSON.stringify(event)
    await service.call({ method: 'POST', path: '/v1/webhooks/events', headers: signed(body), body })
    const handle = () => {
      const table = service.runtime.openTable(startBudget(service.clock, 700))
      return handleEvent(event.event_id, { ...service.runtime, table })
    }
    injectFault(injected)
    // The queue delivers an event again if its handling failed.
    await handle().catch(() => undefined)
    service.faults.reset()
    await handle()
    expect(await cartOf(tenant)).toEqual({
      version: 4,
      lines: ['QUARTER 250'],
      published: ['FIXED 0 v4', 'QUARTER 250 v4'],
    })
  })
})
