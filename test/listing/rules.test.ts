import { beforeAll, describe, expect, test } from '@jest/globals'
import { startService } from '#test/support/service.ts'

const service = await startService()
beforeAll(async () => {
  for (let n = 0; n < 30; n += 1) {
    await service.call({
      method: 'POST',
      path: '/v1/orders',
      as: { tenant: 'acme' },
      headers: { 'Idempotency-Key': `k${n}` },
      body: { cart_id: `Cart-${n}`, amount_minor: n, currency: n % 2 ? 'EUR' : 'USD' },
    })
  }
})

const list = (query: string, as: object = { tenant: 'acme', role: 'Viewer' }, headers = {}) =>
  service.call({ path: `/v1/orders${query}`, as, headers })

describe('a list', () => {
  test('has the envelope and by default 25 items, newest first', async () => {
    const { json, status, headers } = await list('')
    expect(status).toBe(200)
    expect(Object.keys(json).sort()).toEqual([
      'count',
      'data',
      'next_cursor',
      'page_size',
      'prev_cursor',
      'sort',
    ])
    expect(json).toMatchObject({
      page_size: 25,
      prev_cursor: null,
      count: null,
      sort: 'created_at.desc,id.desc',
    })
    expect(json.data).toHaveLength(25)
    expect(json.data[0].cart_id).toBe('Cart-29')
    expect(headers.ETag).toMatch(/^W\/"/)
  })

  test('contains an item immediately after its 201', async () => {
    const placed = await service.call({
      method: 'POST',
      path: '/v1/orders',
      as: { tenant: 'fresh' },
      headers: { 'Idempotency-Key': 'k' },
      body: { cart_id: 'c', amount_minor: 1, currency: 'EUR' },
    })
    const { json } = await list('', { tenant: 'fresh', role: 'Viewer' })
    expect(json.data).toEqual([placed.json])
  })

  test.each([
    ['?currency=EUR&amount_minor.gte=10&amount_minor.lt=20', [19, 17, 15, 13, 11]],
    ['?amount_minor.in=3,5,99', [5, 3]],
    ['?amount_minor.gt=27', [29, 28]],
    ['?amount_minor.lte=1', [1, 0]],
    ['?amount_minor=7', [7]],
    ['?q=CART-1&amount_minor.lt=12', [11, 10, 1]],
    ['?cart_id=cart-1', []],
    ['?created_at.gt=2999-01-01T00:00:00Z', []],
    ['?created_at.lt=2000-01-01T00:00:00%2B02:00', []],
    ['?status=cancelled', []],
  ])('filters: %s', async (query, amounts) => {
    const { json } = await list(`${query}&page_size=100`)
    expect(json.data.map((order: { amount_minor: number }) => order.amount_minor)).toEqual(amounts)
  })

  test('contains deleted items for an Admin on request', async () => {
    expect((await list('?include_deleted=true', { tenant: 'acme', role: 'Admin' })).status).toBe(200)
    expect((await list('?deleted=true', { tenant: 'acme', role: 'Admin' })).json.data).toEqual([])
  })
})

describe('a cursor', () => {
  test('does not reveal the ids in it', async () => {
    const { json } = await list('?page_size=5')
    expect(Buffer.from(json.next_cursor, 'base64url').toString('latin1')).not.toContain(
      json.data[4].id.slice(0, 8),
    )
  })
})
