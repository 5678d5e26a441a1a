import { beforeAll, describe, expect, test } from '@jest/globals'
import { outcome } from '#test/support/outcome.ts'
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

  test('returns 304 for the current ETag, until an item is added or another page is requested', async () => {
    const as = { tenant: 'tagged', role: 'Editor' }
    const first = await list('', as)
    const tag = { 'If-None-Match': first.headers.ETag as string }
    expect((await list('', as, tag)).status).toBe(304)
    const strong = { 'If-None-Match': tag['If-None-Match'].slice('W/'.length) }
    expect((await list('', as, strong)).status).toBe(304)
    expect((await list('?page_size=3', as, tag)).status).toBe(200)
    expect((await list('?status=paid', as, tag)).status).toBe(200)
    await service.call({
      method: 'POST',
      path: '/v1/orders',
      as,
      headers: { 'Idempotency-Key': 'k' },
      body: { cart_id: 'c', amount_minor: 1, currency: 'EUR' },
    })
    expect((await list('', as, tag)).status).toBe(200)
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

  test.each([
    ['?colour=red', 400, 'VALIDATION.filter.unknown_key'],
    ['?status.gte=paid', 400, 'VALIDATION.filter.unknown_key'],
    ['?status.eq=paid', 400, 'VALIDATION.filter.unknown_key'],
    ['?__proto__=x', 400, 'VALIDATION.filter.unknown_key'],
    ['?constructor.in=x', 400, 'VALIDATION.filter.unknown_key'],
    ['?or=(a,b)', 400, 'VALIDATION.filter.unknown_key'],
    ['?limit=3', 400, 'VALIDATION.filter.unknown_key'],
    ['?offset=3', 400, 'VALIDATION.filter.unknown_key'],
    ['?status=lost', 400, 'VALIDATION.filter.value_invalid'],
    ['?status.in=paid,lost', 400, 'VALIDATION.filter.value_invalid'],
    ['?status=', 400, 'VALIDATION.filter.value_invalid'],
    ['?status=paid&status=active', 400, 'VALIDATION.filter.value_invalid'],
    ['?amount_minor=1.5', 400, 'VALIDATION.filter.value_invalid'],
    ['?amount_minor.gte=a', 400, 'VALIDATION.filter.value_invalid'],
    ['?amount_minor.gte=5&amount_minor.lt=1', 400, 'VALIDATION.filter.value_invalid'],
    ['?created_at.gte=yesterday', 400, 'VALIDATION.filter.value_invalid'],
    ['?created_at.gte=2026-02-30T00:00:00Z', 400, 'VALIDATION.filter.value_invalid'],
    ['?created_at.gte=2026-02-03T00:00:00', 400, 'VALIDATION.datetime.timezone_required'],
    ['?created_at.gte=2026-02-03T10:00', 400, 'VALIDATION.datetime.timezone_required'],
    ['?created_at.gte=2026-02-03T10', 400, 'VALIDATION.datetime.timezone_required'],
    ['?created_at.gte=2026-02-03', 400, 'VALIDATION.datetime.timezone_required'],
    ['?created_at.gte=2026-02-30', 400, 'VALIDATION.filter.value_invalid'],
    ['?created_at.gte=2026-02-03T10:00Z', 400, 'VALIDATION.filter.value_invalid'],
    ['?created_at.gte=2026-02-03T25:00', 400, 'VALIDATION.filter.value_invalid'],
    ['?created_at.gte=2026-02-03T00:00:00Z&created_at.lt=2026-01-01T00:00:00Z', 400, 'VALIDATION.date.range'],
    ['?sort=amount_minor.desc', 400, 'VALIDATION.sort.field'],
    ['?sort=created_at', 400, 'VALIDATION.sort.field'],
    ['?sort=created_at.desc,id.asc', 400, 'VALIDATION.sort.field'],
    ['?sort=', 400, 'VALIDATION.sort.field'],
    ['?page_size=0', 400, 'VALIDATION.page_size.min'],
    ['?page_size=-5', 400, 'VALIDATION.page_size.min'],
    ['?page_size=1000000000', 400, 'VALIDATION.page_size.max'],
    ['?page_size=ten', 400, 'VALIDATION.page_size.invalid'],
    ['?cursor=abc', 400, 'VALIDATION.cursor.invalid'],
    ['?cursor=', 400, 'VALIDATION.cursor.invalid'],
    ['?include_deleted=yes', 400, 'VALIDATION.filter.value_invalid'],
    ['?include_deleted=true', 403, 'AUTHZ.filter.denied'],
    ['?deleted=true', 403, 'AUTHZ.filter.denied'],
    ['?q=', 400, 'VALIDATION.filter.value_invalid'],
  ])('rejects %s with %i %s', async (query, status, code) => {
    const answer = await list(query)
    expect(outcome(answer)).toBe(`${status} ${code}`)
  })

  test('limits page_size to the maximum', async () => {
    expect((await list('?page_size=1000')).json.page_size).toBe(100)
  })

  test('contains deleted items for an Admin on request', async () => {
    expect((await list('?include_deleted=true', { tenant: 'acme', role: 'Admin' })).status).toBe(200)
    expect((await list('?deleted=true', { tenant: 'acme', role: 'Admin' })).json.data).toEqual([])
  })

  test('of another tenant is permitted to an Admin by name, and not to an Editor', async () => {
    const { json } = await list('?tenant=acme', { tenant: 'head', role: 'Admin' })
    expect(json.data).toHaveLength(25)
    const denied = await list('?tenant=acme', { tenant: 'rival', role: 'Editor' })
    expect(outcome(denied)).toBe('404 AUTHZ.scope.tenant')
    expect(denied.body).not.toContain('acme')
  })

  test('has three equivalent notations of a sort', async () => {
    const answers = await Promise.all(
      ['created_at.desc', 'id.desc', 'created_at.desc,id.desc'].map((sort) => list(`?sort=${sort}`)),
    )
    expect(new Set(answers.map(({ json }) => JSON.stringify(json.data))).size).toBe(1)
  })
})

describe('a cursor', () => {
  test('is rejected after any change', async () => {
    const cursor = (await list('?page_size=5')).json.next_cursor as string
    for (let index = 0; index < cursor.length; index += 7) {
      const changed = cursor.slice(0, index) + (cursor[index] === 'A' ? 'B' : 'A') + cursor.slice(index + 1)
      const answer = await list(`?page_size=5&cursor=${changed}`)
      expect(answer.json.error?.code).toBe('VALIDATION.cursor.invalid')
    }
  })

  test('is rejected with other filters, another sort or in another tenant', async () => {
    const cursor = (await list('?page_size=5&currency=EUR')).json.next_cursor
    for (const query of [
      `?cursor=${cursor}`,
      `?currency=USD&cursor=${cursor}`,
      `?currency=EUR&sort=id.asc&cursor=${cursor}`,
    ]) {
      expect((await list(query)).json.error?.code).toBe('VALIDATION.cursor.invalid')
    }
    const foreign = await list(`?currency=EUR&cursor=${cursor}`, { tenant: 'rival', role: 'Editor' })
    expect(foreign.json.error?.code).toBe('VALIDATION.cursor.invalid')
    expect((await list(`?currency=EUR&page_size=7&cursor=${cursor}`)).status).toBe(200)
  })

  test('does not reveal the ids in it', async () => {
    const { json } = await list('?page_size=5')
    expect(Buffer.from(json.next_cursor, 'base64url').toString('latin1')).not.toContain(
      json.data[4].id.slice(0, 8),
    )
  })
})
