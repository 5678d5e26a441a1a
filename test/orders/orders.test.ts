import { describe, expect, test } from '@jest/globals'
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

  test('replays the same bytes and creates nothing', async () => {
    const first = await place('replay', order, { tenant: 'replayer', role: 'Editor' })
    const replay = await place('replay', order, { tenant: 'replayer', role: 'Editor' })
    expect(replay.body).toBe(first.body)
    expect(replay.status).toBe(first.status)
    expect(replay.headers).toMatchObject({
      'Idempotency-Status': 'replayed',
      ETag: first.headers.ETag,
      Location: first.headers.Location,
    })
    expect(await service.items('replayer', 'order')).toHaveLength(1)
  })

  test('rejects a replay with another amount and creates nothing', async () => {
    const as = { tenant: 'mismatch', role: 'Editor' }
    await place('mismatch', order, as)
    const answer = await place('mismatch', { ...order, amount_minor: 1 }, as)
    expect(answer.status).toBe(409)
    expect(answer.json.error.code).toBe('CONFLICT.idempotency.payload_mismatch')
    expect(await service.items('mismatch', 'order')).toHaveLength(1)
  })

  test('treats bodies with another order of keys as equal', async () => {
    const first = await place('key-order')
    const replay = await place('key-order', { currency: 'EUR', amount_minor: 1250, cart_id: 'cart-1' })
    expect(replay.body).toBe(first.body)
  })

  test('creates one order for a hundred concurrent calls with one key, with equal responses', async () => {
    const as = { tenant: 'crowd', role: 'Editor' }
    const answers = await Promise.all(Array.from({ length: 100 }, () => place('crowd', order, as)))
    expect(new Set(answers.map(({ status, body }) => `${status} ${body}`)).size).toBe(1)
    expect(answers.filter(({ headers }) => headers['Idempotency-Status'] === 'stored')).toHaveLength(1)
    expect(await service.items('crowd', 'order')).toHaveLength(1)
  })

  test('treats keys of another principal, tenant or route as different keys', async () => {
    const tenants = [
      { tenant: 'scope-a', role: 'Editor', sub: 'u1' },
      { tenant: 'scope-a', role: 'Editor', sub: 'u2' },
      { tenant: 'scope-b', role: 'Editor', sub: 'u1' },
    ]
    const answers = await Promise.all(tenants.map((as) => place('shared', order, as)))
    expect(new Set(answers.map(({ json }) => json.id)).size).toBe(3)
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
    ['cart_id overlong', { ...order, cart_id: 'x'.repeat(129) }, 'VALIDATION.field.length', 'cart_id'],
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

  test('rejects an amount above the largest safe integer instead of rounding it', async () => {
    const answer = await place('big', '{"cart_id":"c","amount_minor":9007199254740993,"currency":"EUR"}')
    expect(answer.json.error).toMatchObject({
      code: 'VALIDATION.body.json',
      details: { fields: { amount_minor: { reason: 'inexact' } } },
    })
  })

  test('reports several invalid fields together', async () => {
    const answer = await place('several', { amount_minor: 'x', currency: 'EUR', extra: 1 })
    expect(answer.json.error.code).toBe('VALIDATION.body.invalid')
    expect(Object.keys(answer.json.error.details.fields).sort()).toEqual(['amount_minor', 'cart_id', 'extra'])
  })

  test.each([
    ['not JSON', '{'],
    ['no body', ''],
  ])('rejects %s', async (_, body) => {
    expect((await place('json', body)).json.error.code).toBe('VALIDATION.body.json')
  })

  test('rejects invalid UTF-8 as an encoding error', async () => {
    const bytes = new Uint8Array([...Buffer.from('{"cart_id":"'), 0xff, ...Buffer.from('"}')])
    const answer = await place('encoding', bytes)
    expect(outcome(answer)).toBe('400 VALIDATION.body.encoding')
  })

  test.each(['gzip', 'identity, br', 'x'])('rejects a body with Content-Encoding %s', async (coding) => {
    const answer = await service.call({
      method: 'POST',
      path: '/v1/orders',
      as: { tenant: 'coded', role: 'Editor' },
      headers: { 'Idempotency-Key': 'coded', 'Content-Encoding': coding },
      body: order,
    })
    expect(outcome(answer)).toBe('415 VALIDATION.content_type.unsupported')
    expect(answer.headers['Accept-Encoding']).toBe('identity')
  })

  test('accepts a body with Content-Encoding identity', async () => {
    const answer = await service.call({
      method: 'POST',
      path: '/v1/orders',
      as: { tenant: 'coded', role: 'Editor' },
      headers: { 'Idempotency-Key': 'plain', 'Content-Encoding': 'Identity' },
      body: order,
    })
    expect(answer.status).toBe(201)
  })

  test('rejects a body that is nested too deeply', async () => {
    const answer = await place('deep', `${'['.repeat(10_000)}${']'.repeat(10_000)}`)
    expect(answer.json.error.code).toBe('VALIDATION.body.too_deep')
  })

  test('rejects a field named __proto__ as unknown', async () => {
    const answer = await place(
      'proto',
      '{"__proto__":{"a":1},"cart_id":"c","amount_minor":1,"currency":"EUR"}',
    )
    expect(answer.status).toBe(400)
    expect(answer.body).toContain('"__proto__"')
  })
})

describe('GET /v1/orders/{id}', () => {
  test('returns the order with its ETag, and 304 for the current ETag', async () => {
    const { json } = await place('read')
    const read = await service.call({ path: `/v1/orders/${json.id}`, as: { role: 'Viewer' } })
    expect(read.status).toBe(200)
    expect(read.json).toEqual(json)
    for (const tag of [read.headers.ETag, `W/${read.headers.ETag}`, `"x", ${read.headers.ETag}`, '*']) {
      const again = await service.call({
        path: `/v1/orders/${json.id}`,
        as: { role: 'Viewer' },
        headers: { 'If-None-Match': tag as string },
      })
      expect([again.status, again.body, again.headers.ETag]).toEqual([304, undefined, read.headers.ETag])
    }
    const other = await service.call({
      path: `/v1/orders/${json.id}`,
      as: { role: 'Viewer' },
      headers: { 'If-None-Match': '"other"' },
    })
    expect(other.status).toBe(200)
  })

  test('has another ETag with other fields', async () => {
    const { json, headers } = await place('fields')
    const settings = { ...localSettings, 'orders.fields': ['id', 'status'] as const }
    const other = await startService({ settings: settings as never, tableName: service.tableName })
    const call = { path: `/v1/orders/${json.id}`, as: { role: 'Viewer' } }
    const read = await other.call({ ...call, headers: { 'If-None-Match': headers.ETag ?? '' } })
    expect([read.status, Object.keys(read.json)]).toEqual([200, ['id', 'status']])
  })

  test('treats an order of another tenant as absent, and audits both', async () => {
    const { json } = await place('foreign', order, { tenant: 'owner', role: 'Editor' })
    const as = { tenant: 'stranger', role: 'Editor', sub: 'snoop' }
    const headers = { 'X-Correlation-Id': 'same' }
    const absentId = json.id.replace(/.{4}$/, json.id.endsWith('0000') ? '1111' : '0000')
    const foreign = await service.call({ path: `/v1/orders/${json.id}`, as, headers })
    const absent = await service.call({ path: `/v1/orders/${absentId}`, as, headers })
    expect(foreign).toEqual(absent)
    expect(foreign.status).toBe(404)
    const audit = await service.items('stranger', 'audit')
    expect(audit.map(({ reason, result, target }) => [reason, result, target])).toEqual([
      ['AUTHZ.scope.tenant', 'deny', 'order'],
      ['NOT_FOUND.order', 'deny', 'order'],
    ])
    expect(JSON.stringify(audit)).not.toContain(json.id)
    expect(JSON.stringify(audit)).not.toContain('owner')
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

  test.each(['nonsense', '%2e%2e', '00000000-0000-4000-8000-000000000000', 'order#acme'])(
    'returns 404 for an id that cannot exist (%s)',
    async (id) => {
      const read = await service.call({
        path: `/v1/orders/${encodeURIComponent(id)}`,
        as: { role: 'Viewer' },
      })
      expect(outcome(read)).toBe('404 NOT_FOUND.order')
    },
  )
})

test('GET /health returns 200 without credentials', async () => {
  const answer = await service.call({ path: '/health' })
  expect([answer.status, answer.json, answer.headers['Content-Type']]).toEqual([
    200,
    { status: 'pass' },
    'application/health+json',
  ])
})
