import { describe, expect, test } from '@jest/globals'
import { findCart } from '#shared/carts/cart-store.ts'
import { outcome } from '#test/support/outcome.ts'
import { startService } from '#test/support/service.ts'
import { longTimeoutSettings } from '#test/support/settings.ts'
import { discountCalls, publishedLines } from './discount-calls.ts'

const service = await startService({ settings: longTimeoutSettings })
const calls = discountCalls(service)

const names = ['ONE', 'TWO', 'THREE', 'FOUR', 'FIVE', 'SIX']
const onCart = { 'X-Cart-Id': 'c1' }
/** Creates a tenant with six codes of 500 each and a cart of 700. */
async function sixCodes(tenant: string): Promise<string> {
  for (const name of names) await calls.makeCode(tenant, name, 'fixed-500')
  await calls.cart(tenant, 'c1', 700)
  return tenant
}
const amountsOf = (answers: { json: { amount: number } }[]) => answers.map(({ json }) => json.amount)
const sum = (amounts: readonly number[]) => amounts.reduce((total, amount) => total + amount, 0)
const linesOf = (tenant: string) => calls.linesOf(tenant, 'c1')
const sumOn = async (tenant: string) =>
  sum(((await findCart(service.table, tenant, 'c1'))?.discounts ?? []).map((one) => one.amount_minor))

describe('several codes on one cart', () => {
  test('discount at most the amount of the cart concurrently, and all succeed', async () => {
    const tenant = await sixCodes('at-once')
    const answers = await Promise.all(names.map((name) => calls.verify(tenant, name, onCart)))
    expect([answers.map(({ status }) => status), sum(amountsOf(answers))]).toEqual([
      names.map(() => 200),
      700,
    ])
    expect(await sumOn(tenant)).toBe(700)
  })

  test('are published with the returned amounts', async () => {
    const tenant = await sixCodes('announced')
    const answers = await Promise.all(names.map((name) => calls.verify(tenant, name, onCart)))
    const announced = calls.eventsOf(tenant).map(({ data }) => Number(data.amount))
    expect(announced.toSorted()).toEqual(amountsOf(answers).toSorted())
  })

  test('leave room for the others when one is verified again', async () => {
    const tenant = await sixCodes('again')
    for (const name of ['ONE', 'TWO', 'TWO', 'ONE']) await calls.verify(tenant, name, onCart)
    expect(await linesOf(tenant)).toEqual(['ONE 500', 'TWO 200'])
  })

  test('are rejected beyond the configured number', async () => {
    const settings = { ...service.settings, 'discount.combination': { maxCodes: 2 } }
    const limited = discountCalls(await startService({ settings, tableName: service.tableName }))
    const tenant = await sixCodes('limited')
    for (const name of ['ONE', 'TWO']) await limited.verify(tenant, name, onCart)
    const { status, json } = await limited.verify(tenant, 'THREE', onCart)
    expect(outcome({ status, json })).toBe('409 CONFLICT.code.not_combinable')
    expect(json.error.details).toEqual({ reason: 'max_codes', max: 2 })
    expect((await limited.verify(tenant, 'TWO', onCart)).status).toBe(200)
  })
})

describe('the discounts of a changed cart', () => {
  test('never exceed it when codes are applied concurrently', async () => {
    const tenant = await sixCodes('racing')
    const changing = async () => {
      // The queue delivers an event again after a conflict.
      const occurred_at = new Date().toISOString()
      for (let attempt = 0; attempt < 20; attempt += 1) {
        const about = { id: 'c1', tenant_id: tenant, amount_minor: 300, currency: 'EUR' }
        const received = calls.sendEvent('cart.updated', about, { occurred_at })
        if (
          await received.then(
            () => true,
            () => false,
          )
        )
          return
      }
      throw new Error('the event was overtaken twenty times')
    }
    const applying = names.map((name) => calls.verify(tenant, name, onCart))
    await Promise.all([changing(), ...applying])
    const cart = await findCart(service.table, tenant, 'c1')
    expect([cart?.amount_minor, await sumOn(tenant)]).toEqual([300, 300])
    expect(publishedLines(calls.eventsOf(tenant))).toEqual(new Set(await linesOf(tenant)))
  })
})

test('a stored time in the distant future, from before the tolerance existed, does not block updates of a cart', async () => {
  await calls.cart('frozen', 'c1', 700)
  const cart = await findCart(service.table, 'frozen', 'c1')
  const stated = { amount_minor: { occurred_at: '2199-01-01T00:00:00.000Z', event_id: 'e' } }
  const item = { ...cart, stated } as never
  await service.table.put({ item, condition: 'none' })
  await calls.cart('frozen', 'c1', 800)
  expect((await findCart(service.table, 'frozen', 'c1'))?.amount_minor).toBe(800)
})
