import { describe, expect, test } from '@jest/globals'
import { findCart } from '#shared/carts/cart-store.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import { outcome } from '#test/support/outcome.ts'
import { startService } from '#test/support/service.ts'
import { discountCalls, publishedLines } from './discount-calls.ts'

const service = await startService()
const calls = discountCalls(service)
const onCart = { 'X-Cart-Id': 'c1' }
const admin = { role: 'Admin', scope: 'codes:read codes:write' }

/** Reports a cart, creates codes of the given types, named by their types, and applies them in turn. */
async function cartWith(tenant: string, amount: number, types: readonly string[]): Promise<void> {
  await calls.cart(tenant, 'c1', amount)
  for (const type of types) {
    await calls.makeCode(tenant, type.toUpperCase(), type)
    await calls.verify(tenant, type.toUpperCase(), onCart)
  }
}
const linesOf = (tenant: string) => calls.linesOf(tenant, 'c1')
const idOf = async (tenant: string, text: string) =>
  String((await service.items(tenant, 'code')).find(({ code }) => code === text)?.id)
/** Returns what is published by an action, each event with its version of the cart. */
async function publishedBy(tenant: string, action: () => Promise<unknown>): Promise<string[]> {
  const before = calls.eventsOf(tenant).length
  await action()
  return calls
    .eventsOf(tenant)
    .slice(before)
    .map(({ type, data }) => `${type} ${data.code} ${data.amount ?? data.error_code}`)
}

test('the lines of a cart follow their rules when an event states only the owner', async () => {
  await cartWith('owned', 600, ['fixed-500', 'percent-25'])
  await service.call({
    method: 'DELETE',
    path: `/codes/${await idOf('owned', 'FIXED-500')}`,
    as: { ...admin, tenant: 'owned' },
  })
  await calls.sendEvent('cart.updated', { id: 'c1', tenant_id: 'owned', user_id: 'ada' })
  expect(await linesOf('owned')).toEqual(['PERCENT-25 150'])
})

describe('a code frees its part of a cart', () => {
  const changed = (changes: object) => async (tenant: string, id: string) => {
    const item = await service.table.get(keyOf(tenant, 'code', id))
    if (!item) throw new Error('the code was not stored')
    await service.table.put({ item: { ...item, ...changes }, condition: 'none' })
  }
  const deleted = (query: string) => async (tenant: string, id: string) => {
    const headers = { 'X-Audit-Log-Reason': 'a mistake' }
    const as = { ...admin, tenant }
    const { status } = await service.call({ method: 'DELETE', path: `/codes/${id}${query}`, as, headers })
    expect(status).toBe(204)
  }
  const endings: [string, (tenant: string, id: string) => Promise<void>][] = [
    ['deleted', deleted('')],
    ['deleted for good', deleted('?force=true')],
    ['archived', changed({ state: 'archived' })],
    ['expired', changed({ expiry_at: '2020-01-01T00:00:00.000Z' })],
  ]
  const ended = async (tenant: string, end: (tenant: string, id: string) => Promise<void>) => {
    await cartWith(tenant, 600, ['fixed-500', 'percent-25'])
    await end(tenant, await idOf(tenant, 'FIXED-500'))
    return tenant
  }
  const freed = ['promo.applied FIXED-500 0', 'promo.applied PERCENT-25 150']

  const occasions: [string, (tenant: string) => Promise<unknown>, string[]][] = [
    ['another code is verified', (tenant) => calls.verify(tenant, 'PERCENT-25', onCart), freed],
    ['the cart changes', (tenant) => calls.cart(tenant, 'c1', 601), freed],
    [
      'it is verified itself',
      (tenant) => calls.verify(tenant, 'FIXED-500', onCart),
      [expect.stringMatching('promo.rejected FIXED-500') as never, ...freed],
    ],
  ]

  describe.each(occasions)('when %s after it was', (occasion, act, published) => {
    test.each(endings)('%s', async (name, end) => {
      const tenant = await ended(`${occasion} ${name}`.replaceAll(' ', '-'), end)
      expect(await publishedBy(tenant, () => act(tenant))).toEqual(published)
      expect(await linesOf(tenant)).toEqual(['PERCENT-25 150'])
    })
  })

  test('when it is refused next to a gift card that came later', async () => {
    const tenant = 'carded'
    await cartWith(tenant, 600, ['percent-10', 'fixed-500', 'percent-25'])
    expect(await linesOf(tenant)).toEqual(['PERCENT-10 60', 'FIXED-500 500', 'PERCENT-25 40'])
    await calls.sendEvent('giftcard.applied', { id: 'c1', tenant_id: tenant, giftcard_id: 'g1', amount: 5 })
    const refused = async () =>
      expect(outcome(await calls.verify(tenant, 'PERCENT-10', onCart))).toBe(
        '409 CONFLICT.code.not_combinable',
      )
    expect(await publishedBy(tenant, refused)).toEqual([
      'promo.rejected PERCENT-10 CONFLICT.code.not_combinable',
      'promo.applied PERCENT-10 0',
      'promo.applied PERCENT-25 100',
    ])
    expect(await linesOf(tenant)).toEqual(['FIXED-500 500', 'PERCENT-25 100'])
  })

  test('which is not published if it was nothing', async () => {
    await cartWith('empty', 0, ['fixed-500', 'percent-25'])
    await deleted('')('empty', await idOf('empty', 'FIXED-500'))
    expect(await publishedBy('empty', () => calls.cart('empty', 'c1', 600))).toEqual([
      'promo.applied PERCENT-25 150',
    ])
  })

  test('so that a cart with the maximum number of codes takes another one', async () => {
    const settings = { ...service.settings, 'discount.combination': { maxCodes: 2 } }
    const limited = discountCalls(await startService({ settings, tableName: service.tableName }))
    const tenant = await ended('places', deleted(''))
    await limited.makeCode(tenant, 'THIRD', 'percent-25')
    expect((await limited.verify(tenant, 'THIRD', onCart)).json).toEqual({ applied: true, amount: 150 })
  })

  test('and gets another one after a restore, behind the codes that were applied since', async () => {
    const tenant = await ended('restored', deleted(''))
    await calls.verify(tenant, 'PERCENT-25', onCart)
    const path = `/codes/${await idOf(tenant, 'FIXED-500')}:restore`
    const headers = { 'Idempotency-Key': 'restore' }
    await service.call({ method: 'POST', path, as: { ...admin, tenant }, headers })
    await calls.verify(tenant, 'FIXED-500', onCart)
    expect(await linesOf(tenant)).toEqual(['PERCENT-25 150', 'FIXED-500 450'])
    expect(publishedLines(calls.eventsOf(tenant))).toEqual(new Set(await linesOf(tenant)))
  })
})

describe('a change of a discount by cart.updated', () => {
  test('is published with the correlation id of the event and the version of the line', async () => {
    await cartWith('correlated', 10_000, ['percent-25'])
    await calls.cart('correlated', 'c1', 2000, { correlation_id: 'of-the-cart' })
    const { version } = (await findCart(service.table, 'correlated', 'c1')) ?? {}
    expect(calls.eventsOf('correlated').at(-1)).toMatchObject({
      type: 'promo.applied',
      correlation_id: 'of-the-cart',
      data: {
        cart_id: 'c1',
        code: 'PERCENT-25',
        amount: 500,
        rule_id: 'percent-25',
        correlation_id: 'of-the-cart',
        version,
      },
    })
  })

  test('is published for each line that changes, and for no other', async () => {
    await cartWith('partly', 10_000, ['fixed-500', 'percent-25'])
    expect(await publishedBy('partly', () => calls.cart('partly', 'c1', 4000))).toEqual([
      'promo.applied PERCENT-25 1000',
    ])
  })

  test('of several codes is published with one correlation id, and with what tells the changes apart', async () => {
    await cartWith('several', 10_000, ['percent-10', 'percent-25'])
    const before = calls.eventsOf('several').length
    const changed = () => calls.cart('several', 'c1', 2000, { correlation_id: 'of-the-cart' })
    await changed()
    const events = calls.eventsOf('several').slice(before)
    const keys = events.map(({ data }) => [data.correlation_id, data.cart_id, data.code, data.version].join())
    expect(new Set(events.map(({ data }) => data.correlation_id))).toEqual(new Set(['of-the-cart']))
    expect([new Set(keys).size, new Set(events.map(({ event_id }) => event_id)).size]).toEqual([2, 2])
  })

  test('is not published again when the event is repeated', async () => {
    await cartWith('repeated', 10_000, ['percent-25'])
    const event = { id: 'c1', tenant_id: 'repeated', amount_minor: 2000, currency: 'EUR' }
    const more = { event_id: crypto.randomUUID(), occurred_at: new Date().toISOString() }
    const sendAgain = () => calls.sendEvent('cart.updated', event, more)
    expect(await publishedBy('repeated', sendAgain)).toEqual(['promo.applied PERCENT-25 500'])
    expect(await publishedBy('repeated', sendAgain)).toEqual([])
  })
})
