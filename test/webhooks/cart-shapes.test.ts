import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { findCart } from '#shared/carts/cart-store.ts'
import { inboxKey } from '#shared/webhooks/inbox.ts'
import { discountCalls } from '#test/discounts/discount-calls.ts'
import { outcome } from '#test/support/outcome.ts'
import { handleReceived, receiveEvent, sendEvent } from '#test/support/received-events.ts'
import { runs } from '#test/support/runs.ts'
import { startService } from '#test/support/service.ts'
import { profile } from '#test/support/settings.ts'
import { eventOf } from '#test/support/signed-events.ts'
import { uniqueTenant } from '#test/support/unique-tenant.ts'

const service = await startService()
const { makeCode, verify } = discountCalls(service)

const price = { amount_minor: 400, currency: 'EUR' }
const updated = (data: Record<string, unknown>, more: object = {}) =>
  eventOf('cart.updated', { id: 'c1', tenant_id: 'shop', ...data }, more)

describe('an event that cannot have its effect is refused before it is stored', () => {
  test.each<[name: string, type: string, data: object, field: string, code: string]>([
    ['a cart that is a number', 'cart.updated', { ...price, cart_id: 7 }, 'data.cart_id', 'type'],
    ['a cart that is null', 'tax.recalculated', { cart_id: null }, 'data.cart_id', 'type'],
    ['a cart without a name', 'cart.updated', { ...price, cart_id: '' }, 'data.cart_id', 'length'],
    ['a cart that no header can name', 'cart.updated', { cart_id: 'a b' }, 'data.cart_id', 'format'],
    ['a cart with a long name', 'cart.updated', { cart_id: 'c'.repeat(256) }, 'data.cart_id', 'length'],
    ['a negative amount', 'cart.updated', { ...price, amount_minor: -1 }, 'data.amount_minor', 'range'],
    ['an amount that is null', 'cart.updated', { ...price, amount_minor: null }, 'data.amount_minor', 'type'],
    ['a currency in lower case', 'cart.updated', { ...price, currency: 'eur' }, 'data.currency', 'format'],
    ['an owner that is a number', 'cart.updated', { ...price, user_id: 42 }, 'data.user_id', 'type'],
    ['an owner that is an object', 'cart.updated', { user_id: { id: 'ada' } }, 'data.user_id', 'type'],
    ['an owner that is no text', 'cart.updated', { user_id: '\ud800' }, 'data.user_id', 'format'],
    ['a tenant that has no name', 'order.paid', { tenant_id: '#' }, 'data.tenant_id', 'format'],
    ['a tenant that is a list', 'refund.failed', { tenant_id: ['shop'] }, 'data.tenant_id', 'type'],
    ['a gift card without an amount', 'giftcard.applied', { giftcard_id: 'g' }, 'data.amount', 'required'],
  ])('for %s', async (_, type, data, field, code) => {
    const event = eventOf(type, { id: 'c1', ...data })
    const { status, json } = await sendEvent(service, event)
    expect([status, json.error.code, Object.keys(json.error.details.fields)]).toEqual([
      400,
      `VALIDATION.field.${code}`,
      [field],
    ])
    expect(await service.table.get(inboxKey(event.event_id))).toBeUndefined()
  })

  test('unless its version is unknown: it is stored, and checked when its version has become known', async () => {
    const event = updated({ cart_id: 7 }, { version: 2 })
    expect((await sendEvent(service, event)).status).toBe(202)
    await expect(handleReceived(service, event.event_id)).rejects.toThrow('unknown version')
    const inbox = inboxKey(event.event_id)
    const known = JSON.stringify({ ...event, version: 1 })
    await service.table.update({ update: inbox, set: { event: known }, condition: 'none' })
    await expect(handleReceived(service, event.event_id)).rejects.toThrow()
    expect(await service.table.get(inbox)).toMatchObject({
      state: 'received',
      failure: { message: 'data.cart_id: string' },
    })
  })

  test('unless its type has no handler: it is ignored, whatever its data names', async () => {
    expect(await receiveEvent(service, eventOf('parcel.packed', { id: 'p', tenant_id: 7 }))).toBe('ignored')
  })

  test('unless it was stored before: a duplicate gets the same response, also under other settings', async () => {
    const local = 'shared/settings/profiles/local.json'
    const fields = { amount: 'data.price', currency: 'data.currency', owner: 'data.user_id' }
    const settings = profile(local, { 'discount.cartFields': fields })
    const other = await startService({ settings, tableName: service.tableName })
    const event = updated({ amount_minor: 'free' })
    expect((await sendEvent(service, event)).status).toBe(400)
    expect((await sendEvent(other, event)).status).toBe(202)
    expect((await sendEvent(service, event)).status).toBe(202)
  })
})

describe('the owner of a guest', () => {
  const cartAfter = async (data: object, from = service) => {
    const tenant_id = uniqueTenant('guest')
    await receiveEvent(from, updated({ tenant_id, ...price, user_id: 'ada', customer: { id: 'ada' } }))
    expect(await receiveEvent(from, updated({ tenant_id, amount_minor: 500, ...data }))).toBe('handled')
    return findCart(service.table, tenant_id, 'c1')
  }

  test.each([[null], [''], [0], [false]])('%j is none, and the amount beside it counts', async (user_id) => {
    expect(await cartAfter({ user_id })).toMatchObject({ amount_minor: 500, currency: 'EUR', owner: 'ada' })
  })

  test('is none if the object that would name it is null', async () => {
    const fields = { amount: 'data.amount_minor', currency: 'data.currency', owner: 'data.customer.id' }
    const settings = profile('shared/settings/profiles/local.json', { 'discount.cartFields': fields })
    const nested = await startService({ settings, tableName: service.tableName })
    expect(await cartAfter({ customer: null }, nested)).toMatchObject({ amount_minor: 500, owner: 'ada' })
  })
})

describe('amount and currency', () => {
  test('each follow the latest event that states them', async () => {
    const tenant_id = uniqueTenant('parts')
    const at = (day: number) => ({ occurred_at: `2026-01-0${day}T00:00:00.000Z` })
    const receive = (data: object, day: number) =>
      receiveEvent(service, updated({ tenant_id, ...data }, at(day)))
    await receive(price, 2)
    expect(await receive({ amount_minor: 900 }, 4)).toBe('handled')
    expect(await receive({ ...price, currency: 'USD' }, 3)).toBe('handled')
    expect(await receive({ currency: 'JPY' }, 1)).toBe('handled')
    expect(await findCart(service.table, tenant_id, 'c1')).toMatchObject({
      amount_minor: 900,
      currency: 'USD',
    })
  })

  test.each([
    ['.500900Z', '.500100Z'],
    ['.500100Z', '.5Z'],
  ])('follow the event at %s, not the one at %s', async (later, earlier) => {
    const tenant_id = uniqueTenant('close')
    const send = (amount_minor: number, event_id: string, fraction: string) => {
      const more = { event_id: `${event_id}-${tenant_id}`, occurred_at: `2026-01-01T00:00:00${fraction}` }
      return receiveEvent(service, updated({ tenant_id, amount_minor }, more))
    }
    await send(1, 'z', earlier)
    await send(2, 'a', later)
    expect(await findCart(service.table, tenant_id, 'c1')).toMatchObject({ amount_minor: 2 })
  })

  test.each([
    ['amount', 'currency', { amount_minor: 400 }, { currency: 'EUR' }],
    ['currency', 'amount', { currency: 'EUR' }, { amount_minor: 400 }],
  ])(
    'of a cart whose %s is known and whose %s is not do not price it yet',
    async (_, _other, first, second) => {
      const tenant_id = uniqueTenant('unpriced')
      await makeCode(tenant_id, 'CODE', 'percent-25')
      const verified = () => verify(tenant_id, 'CODE', { 'X-Cart-Id': 'c1' })
      await receiveEvent(service, updated({ tenant_id, ...first }))
      expect(outcome(await verified())).toBe('404 NOT_FOUND.cart')
      await receiveEvent(service, updated({ tenant_id, ...second }))
      expect((await verified()).json).toEqual({ applied: true, amount: 100 })
    },
  )

  test('and owner are the same after any order of arrival', async () => {
    const facts = fc.record(
      {
        amount_minor: fc.nat(9),
        currency: fc.constantFrom('EUR', 'USD'),
        user_id: fc.constantFrom('ada', 'bob', null, 0),
      },
      { requiredKeys: [] },
    )
    const events = fc.array(fc.record({ facts, millisecond: fc.nat(3) }), { minLength: 2, maxLength: 5 })
    const orders = events.chain((all) =>
      fc.tuple(fc.constant(all), fc.shuffledSubarray([...all.keys()], { minLength: all.length })),
    )
    const check = async ([all, order]: [{ facts: object; millisecond: number }[], number[]]) => {
      const cartAfter = async (indexes: number[]) => {
        const tenant_id = uniqueTenant('order')
        for (const index of indexes) {
          const one = all[index]
          const occurred_at = `2026-01-01T00:00:00.00${one?.millisecond}Z`
          // The id decides between events of one millisecond.
          const more = { occurred_at, event_id: `${tenant_id}-${index}` }
          await receiveEvent(service, updated({ tenant_id, ...one?.facts }, more))
        }
        const { amount_minor, currency, owner } = (await findCart(service.table, tenant_id, 'c1')) ?? {}
        return { amount_minor, currency, owner }
      }
      expect(await cartAfter(order)).toEqual(await cartAfter([...all.keys()]))
    }
    await fc.assert(fc.asyncProperty(orders, check), runs(300))
  })
})

describe('an event of a cart', () => {
  /** Values of every JSON type, among them those of a cart, of a guest and of other services. */
  const values = fc.oneof(
    fc.constantFrom('', 'c2', 'a b', 'EUR', 'eur', 'ada', 'u\ud800', 'c'.repeat(256), '\u0000'),
    fc.constantFrom(null, true, false, 0, -0, 1, -1, 1.5, 2 ** 53, 1e300),
    fc.jsonValue({ maxDepth: 2 }),
  )
  const isText = (value: unknown): value is string => typeof value === 'string' && value.isWellFormed()
  const isAmount = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0
  /** The fields of each type, with what they may be. */
  const ofCart = {
    cart_id: (value: unknown) => isText(value) && /^[!-~]{1,255}$/.test(value),
    correlation_id: (value: unknown) => typeof value === 'string',
  }
  const fields: Record<string, Record<string, (value: unknown) => boolean>> = {
    'cart.updated': {
      ...ofCart,
      amount_minor: isAmount,
      currency: (value) => isText(value) && /^[A-Z]{3}$/.test(value),
      user_id: (value) =>
        (isText(value) && value.length <= 255) || value === null || value === 0 || value === false,
    },
    'giftcard.applied': {
      ...ofCart,
      giftcard_id: (value) => isText(value) && value !== '',
      amount: isAmount,
    },
    'tax.recalculated': ofCart,
  }
  const required: Record<string, string[]> = { 'giftcard.applied': ['giftcard_id', 'amount'] }
  const events = fc.constantFrom(...Object.keys(fields)).chain((type) => {
    const data = Object.fromEntries(Object.keys(fields[type] ?? {}).map((name) => [name, values]))
    return fc.record({ type: fc.constant(type), data: fc.record(data, { requiredKeys: [] }) })
  })

  /** Sends an event of one cart, and reports its effects. */
  async function check({ type, data }: { type: string; data: Record<string, unknown> }): Promise<void> {
    const tenant_id = uniqueTenant('any')
    const event = eventOf(type, { ...data, id: 'c1', tenant_id })
    const { status, json } = await sendEvent(service, event)
    const misfits = Object.entries(fields[type] ?? {}).filter(([name, fits]) =>
      name in data ? !fits(data[name]) : required[type]?.includes(name),
    )
    expect([status, Object.keys(json?.error.details.fields ?? {}).toSorted()]).toEqual([
      misfits.length > 0 ? 400 : 202,
      misfits.map(([name]) => `data.${name}`).toSorted(),
    ])
    const named = String(data.cart_id ?? 'c1')
    const { amount_minor, currency } = data
    const owner = data.user_id || undefined
    const states = [amount_minor, currency, owner].some((fact) => fact !== undefined)
    const isCart = type === 'cart.updated' && states
    if (status === 202) {
      expect(await handleReceived(service, event.event_id)).toBe(
        isCart || type !== 'cart.updated' ? 'handled' : 'ignored',
      )
    }
    const [carts, lines] = [
      await service.items(tenant_id, 'cart'),
      await service.items(tenant_id, 'cart_line'),
    ]
    const facts = carts.map((cart) => [cart.cart_id, cart.amount_minor, cart.currency, cart.owner])
    // A table has no negative zero.
    const amount = typeof amount_minor === 'number' ? amount_minor + 0 : amount_minor
    expect(facts).toEqual(status === 202 && isCart ? [[named, amount, currency, owner]] : [])
    const isLine = status === 202 && type !== 'cart.updated'
    expect(lines.map(({ cart_id }) => cart_id)).toEqual(isLine ? [named] : [])
  }

  test('of any subset of fields has its effect on the cart that it names, or is refused for its fields', async () => {
    const guest = { type: 'cart.updated', data: { ...price, user_id: 0 } }
    const numbered = { type: 'tax.recalculated', data: { cart_id: 7 } }
    await fc.assert(fc.asyncProperty(events, check), { ...runs(300), examples: [[guest], [numbered]] })
  })
})
