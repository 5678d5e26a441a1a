import { describe, expect, test } from '@jest/globals'
import { keyOf } from '#shared/platform/table/keys.ts'
import { outcome } from '#test/support/outcome.ts'
import { startService } from '../support/service.ts'
import { localSettings, longTimeoutSettings } from '../support/settings.ts'

const service = await startService({ settings: longTimeoutSettings })

const order = { cart_id: 'cart-1', amount_minor: 1250, currency: 'EUR' }
const editor = { tenant: 'acme', role: 'Editor' }
const place = (key: string, body: unknown = order, as = editor) =>
  service.call({ method: 'POST', path: '/v1/orders', as, headers: { 'Idempotency-Key': key }, body })

describe('POST /v1/orders', () => {
  test('returns 201 with the order, its ETag and its Location', async () => {
    const answer = await place('place-1')
    expect(answer.status).toBe(201)
    expect(answer.json).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      tenant_id: 'acme',
      ...order,
      status: 'active',
      created_at: expect.stringMatching(/Z$/),
      updated_at: answer.json.created_at,
    })
    expect(answer.headers).toMatchObject({
      'Idempotency-Status': 'stored',
      Location: `/v1/orders/${answer.json.id}`,
      ETag: expect.stringMatching(/^"[\w-]+"$/),
    })
  })

  test('creates one order for a hundred concurrent calls with one key, with equal responses', async () => {
    const as = { tenant: 'crowd', role: 'Editor' }
    const answers = await Promise.all(Array.from({ length: 100 }, () => place('crowd', order, as)))
    expect(new Set(answers.map(({ status, body }) => `${status} ${body}`)).size).toBe(1)
    expect(answers.filter(({ headers }) => headers['Idempotency-Status'] === 'stored')).toHaveLength(1)
    expect(await service.items('crowd', 'order')).toHaveLength(1)
  })

  test('creates an order in the requested tenant for an Admin', async () => {
    const answer = await service.call({
      method: 'POST',
      path: '/v1/orders?tenant=branch',
      as: { tenant: 'head', role: 'Admin' },
      headers: { 'Idempotency-Key': 'k' },
      body: order,
    })
    expect(answer.json.tenant_id).toBe('branch')
    expect(await service.items('branch', 'order')).toHaveLength(1)
  })

  test.each([
    ['cart_id missing', { amount_minor: 1, currency: 'EUR' }, 'VALIDATION.field.required', 'cart_id'],
    ['cart_id empty', { ...order, cart_id: '' }, 'VALIDATION.field.length', 'cart_id'],
    ['cart_id overlong', { ...order, cart_id: 'x'.repeat(256) }, 'VALIDATION.field.length', 'cart_id'],
    ['cart_id with a space', { ...order, cart_id: 'a b' }, 'VALIDATION.field.format', 'cart_id'],
    ['cart_id a number', { ...order, cart_id: 7 }, 'VALIDATION.field.type', 'cart_id'],
    ['amount negative', { ...order, amount_minor: -1 }, 'VALIDATION.field.range', 'amount_minor'],
    ['amount with a fraction', { ...order, amount_minor: 1.5 }, 'VALIDATION.field.type', 'amount_minor'],
    ['amount as text', { ...order, amount_minor: '1' }, 'VALIDATION.field.type', 'amount_minor'],
    ['amount null', { ...order, amount_minor: null }, 'VALIDATION.field.type', 'amount_minor'],
    ['currency unknown', { ...order, currency: 'ZZZ' }, 'VALIDATION.field.enum', 'currency'],
    ['currency in lower case', { ...order, currency: 'eur' }, 'VALIDATION.field.enum', 'currency'],
    ['a field too many', { ...order, status: 'paid' }, 'VALIDATION.field.unknown', 'status'],
  ])('rejects %s and names the field', async (_, body, code, field) => {
    const answer = await place('invalid', body, { tenant: 'invalid', role: 'Editor' })
    expect(answer.status).toBe(400)
    expect(answer.json.error.code).toBe(code)
    expect(Object.keys(answer.json.error.details.fields)).toEqual([field])
    expect(await service.items('invalid', 'order')).toHaveLength(0)
  })
})

describe('GET /v1/orders/{id}', () => {
  test('has another ETag with other fields', async () => {
    const { json, headers } = await place('fields')
    const settings = { ...localSettings, 'orders.fields': ['currency'] }
    const other = await startService({ settings, tableName: service.tableName })
    const call = { path: `/v1/orders/${json.id}`, as: { role: 'Viewer' } }
    const read = await other.call({ ...call, headers: { 'If-None-Match': headers.ETag ?? '' } })
    expect([read.status, Object.keys(read.json)]).toEqual([200, ['id', 'currency', 'status', 'created_at']])
  })

  test('returns an order of any tenant to an Admin', async () => {
    const { json } = await place('admin', order, { tenant: 'far', role: 'Editor' })
    const read = await service.call({ path: `/v1/orders/${json.id}`, as: { tenant: 'head', role: 'Admin' } })
    expect(read.json).toEqual(json)
  })

  test('returns 410 for an erased order', async () => {
    const { json } = await place('erased')
    const [item] = (await service.items('acme', 'order')).filter(({ id }) => id === json.id)
    if (!item) throw new Error('the order is not in the table')
    const tombstone = {
      pk: item.pk,
      sk: item.sk,
      id: json.id,
      version: 2,
      erased_at: '2026-01-01T00:00:00.000Z',
    }
    await service.table.put({ item: tombstone, condition: { matches: { version: 1 } } })
    const read = await service.call({ path: `/v1/orders/${json.id}`, as: { role: 'Viewer' } })
    expect(outcome(read)).toBe('410 GONE.order')
    const list = await service.call({ path: '/v1/orders?page_size=100', as: { role: 'Viewer' } })
    expect(list.json.data.map(({ id }: { id: string }) => id)).not.toContain(json.id)
  })
})

describe('GET /v1/orders with a cart_id', () => {
  const as = { tenant: 'carts', role: 'Editor' }
  const idsOf = async (query: Record<string, string>) => {
    const path = `/v1/orders?${new URLSearchParams(query)}`
    const { status, json } = await service.call({ path, as: { ...as, role: 'Viewer' } })
    expect(status).toBe(200)
    return {
      ids: json.data.map(({ id }: { id: string }) => id) as string[],
      next: json.next_cursor as string | null,
    }
  }
  const placed = async (cart_id: string): Promise<string> => {
    const { json } = await place(crypto.randomUUID(), { ...order, cart_id }, as)
    return json.id
  }

  test('returns the orders of that cart only, whatever is between them, in every order and page by page', async () => {
    const ids: string[] = []
    for (let n = 0; n < 5; n += 1) {
      ids.push(await placed('#cart'))
      await placed('#cart#2')
    }
    expect(await idsOf({ cart_id: '#cart' })).toEqual({ ids: ids.toReversed(), next: null })
    expect(await idsOf({ cart_id: '#cart', sort: 'id.asc' })).toEqual({ ids, next: null })
    expect(await idsOf({ cart_id: '#cart', id: ids[2] ?? '' })).toEqual({ ids: [ids[2]], next: null })
    expect(await idsOf({ cart_id: '#cart', status: 'paid' })).toEqual({ ids: [], next: null })
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = await idsOf({ cart_id: '#cart', page_size: '2', ...(cursor && { cursor }) })
      seen.push(...page.ids)
      cursor = page.next
    }
    expect(seen).toEqual(ids.toReversed())
  })

  test('is another page once the cart has another order', async () => {
    const read = (headers = {}) =>
      service.call({ path: '/v1/orders?cart_id=tagged&sort=id.asc&page_size=1', as, headers })
    await placed('tagged')
    await placed('tagged')
    const ifNoneMatch = { 'If-None-Match': (await read()).headers.ETag ?? '' }
    expect((await read(ifNoneMatch)).status).toBe(304)
    await placed('tagged')
    expect((await read(ifNoneMatch)).status).toBe(200)
  })

  test('shows nothing of a cart that has no order, or whose order is not there', async () => {
    expect(await idsOf({ cart_id: 'unknown' })).toEqual({ ids: [], next: null })
    const id = await placed('entry-only')
    const key = keyOf('carts', 'order', id)
    await service.table.transact([{ remove: key, condition: 'none' }])
    expect(await idsOf({ cart_id: 'entry-only' })).toEqual({ ids: [], next: null })
  })

  test('finds all orders of a cart that has more than one request reads', async () => {
    for (let n = 0; n < 12; n += 1) await Promise.all(Array.from({ length: 10 }, () => placed('busy')))
    const page = await idsOf({ cart_id: 'busy', page_size: '100' })
    expect([page.ids.length, page.next === null]).toEqual([100, false])
    const more = await idsOf({ cart_id: 'busy', page_size: '100', cursor: page.next ?? '' })
    expect(new Set([...page.ids, ...more.ids]).size).toBe(120)
  })
})
