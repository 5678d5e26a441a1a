import { describe, expect, test } from '@jest/globals'
import { sumOf } from '#shared/carts/cart.ts'
import { findCart, lineItem } from '#shared/carts/cart-store.ts'
import { outcome } from '#test/support/outcome.ts'
import { startService } from '#test/support/service.ts'
import { discountCalls } from './discount-calls.ts'

const service = await startService()
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
const discountsOf = async (tenant: string) => (await findCart(service.table, tenant, 'c1'))?.discounts ?? []

describe('several codes on one cart', () => {
  test('discount at most the amount of the cart in sequence', async () => {
    const tenant = await sixCodes('in-turn')
    const answers = []
    for (const name of names) answers.push(await calls.verify(tenant, name, onCart))
    expect(amountsOf(answers)).toEqual([500, 200, 0, 0, 0, 0])
  })

  test('discount at most the amount of the cart concurrently, and all succeed', async () => {
    const tenant = await sixCodes('at-once')
    const answers = await Promise.all(names.map((name) => calls.verify(tenant, name, onCart)))
    expect([answers.map(({ status }) => status), sum(amountsOf(answers))]).toEqual([
      names.map(() => 200),
      700,
    ])
    expect(sumOf(await discountsOf(tenant))).toBe(700)
  })

  test('are published with the returned amounts', async () => {
    const tenant = await sixCodes('announced')
    const answers = await Promise.all(names.map((name) => calls.verify(tenant, name, onCart)))
    const announced = (await calls.eventsOf(tenant)).map(({ data }) => Number(data.amount))
    expect(announced.toSorted()).toEqual(amountsOf(answers).toSorted())
  })

  test('leave room for the others when one is verified again', async () => {
    const tenant = await sixCodes('again')
    for (const name of ['ONE', 'TWO', 'TWO', 'ONE']) await calls.verify(tenant, name, onCart)
    expect(await discountsOf(tenant)).toEqual([
      { code: 'ONE', amount_minor: 500 },
      { code: 'TWO', amount_minor: 200 },
    ])
  })

  test('count the discount lines that release 0.1.0 stored', async () => {
    const tenant = await sixCodes('legacy')
    const line = { cart_id: 'c1', kind: 'discount' as const, name: 'OLD', amount_minor: 600 }
    const item = lineItem(tenant, { ...line, occurred_at: '2026-01-01T00:00:00.000Z' })
    await service.table.put({ item, condition: 'none' })
    expect((await calls.verify(tenant, 'ONE', onCart)).json).toEqual({ applied: true, amount: 100 })
  })

  test('are rejected beyond the configured number', async () => {
    const settings = { ...service.settings, 'discount.combination': { maxCodes: 2 } }
    const limited = discountCalls(await startService({ settings, tableName: service.tableName }))
    const tenant = await sixCodes('limited')
    for (const name of ['ONE', 'TWO']) await limited.verify(tenant, name, onCart)
    const { status, json } = await limited.verify(tenant, 'THREE', onCart)
    expect(outcome({ status, json })).toBe('409 CONFLICT.code.not_combinable')
    expect((await limited.verify(tenant, 'TWO', onCart)).status).toBe(200)
  })
})

describe('the discounts of a changed cart', () => {
  test('are reduced to its new amount, the last code first', async () => {
    const tenant = await sixCodes('falling')
    for (const name of ['ONE', 'TWO']) await calls.verify(tenant, name, onCart)
    await calls.cart(tenant, 'c1', 300)
    expect(await discountsOf(tenant)).toEqual([
      { code: 'ONE', amount_minor: 300 },
      { code: 'TWO', amount_minor: 0 },
    ])
  })

  test('are removed if its currency changes', async () => {
    const tenant = await sixCodes('converted')
    await calls.verify(tenant, 'ONE', onCart)
    await calls.cart(tenant, 'c1', 900, { currency: 'JPY' })
    expect(await discountsOf(tenant)).toEqual([])
  })

  test('are kept if an event does not state the amount', async () => {
    const tenant = await sixCodes('kept')
    await calls.verify(tenant, 'ONE', onCart)
    await calls.tell('cart.updated', { id: 'c1', cart_id: 'c1', tenant_id: tenant, correlation_id: 'x' })
    expect(await discountsOf(tenant)).toEqual([{ code: 'ONE', amount_minor: 500 }])
  })

  test('never exceed it when codes are applied concurrently', async () => {
    const tenant = await sixCodes('racing')
    const changing = async () => {
      // The queue delivers an event again after a conflict.
      const occurred_at = new Date().toISOString()
      for (let attempt = 0; attempt < 20; attempt += 1) {
        const about = { id: 'c1', tenant_id: tenant, amount_minor: 300, currency: 'EUR' }
        const received = calls.tell('cart.updated', about, { occurred_at })
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
    expect([cart?.amount_minor, sumOf(cart?.discounts ?? []) <= 300]).toEqual([300, true])
  })
})

test('a stored time in the distant future, from before the tolerance existed, does not block updates of a cart', async () => {
  await calls.cart('frozen', 'c1', 700)
  const cart = await findCart(service.table, 'frozen', 'c1')
  const item = { ...cart, occurred_at: '2199-01-01T00:00:00.000Z' } as never
  await service.table.put({ item, condition: 'none' })
  await calls.cart('frozen', 'c1', 800)
  expect((await findCart(service.table, 'frozen', 'c1'))?.amount_minor).toBe(800)
})
