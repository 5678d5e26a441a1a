import { beforeAll, describe, expect, test } from '@jest/globals'
import * as v from 'valibot'
import { systemClock } from '#shared/platform/base/clock.ts'
import { created, defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { defineRoute } from '#shared/platform/request/route.ts'
import { idAt } from '#test/support/ids.ts'
import { outcome } from '#test/support/outcome.ts'
import { type Service, startService } from '#test/support/service.ts'
import { otherSettings } from '#test/support/settings.ts'

/** Each setting has an effect: two deployments with different values respond differently to the same call. */
const accepted = defineEndpoint(
  defineRoute({
    operation: 'tests.accepted',
    method: 'POST',
    path: '/tests/accepted',
    summary: '',
    description: '',
    auth: 'bearer',
    access: 'create',
    idempotency: 'accepted',
    body: () => v.strictObject({ a: v.number(), b: v.number() }),
    reply: { status: () => 201, schema: () => v.strictObject({}) },
    errors: [],
    uses: [],
    impact: '',
  }),
  { decide: () => created({}) },
)

let local: Service
let other: Service
beforeAll(async () => {
  const extra = [accepted]
  local = await startService({ extra })
  other = await startService({ settings: otherSettings, extra })
})

const order = { cart_id: 'cart-1', amount_minor: 100, currency: 'EUR' }
const nonce = { 'X-Nonce': 'n' }
const who = (role: string, tenant = 'acme') => ({
  tenant,
  role,
  scope: 'orders:write',
  claims: { nonce: 'n', amr: ['otp'] },
})
let keys = 0
const place = (service: Service, body: unknown = order, role = 'Editor', headers = {}, tenant = 'acme') =>
  service.call({
    method: 'POST',
    path: '/v1/orders',
    as: service === local ? { role, tenant } : who(role, tenant),
    headers: { ...nonce, 'Idempotency-Key': `k${keys++}`, ...headers },
    body,
  })
const list = (service: Service, query = '', role = 'Viewer', tenant = 'acme') =>
  service.call({
    path: `/v1/orders${query}`,
    as: service === local ? { role, tenant } : who(role, tenant),
    headers: nonce,
  })

describe('orders', () => {
  test('orders.createStatus', async () =>
    expect([(await place(local)).status, (await place(other)).status]).toEqual([201, 200]))
  test('orders.statuses', async () =>
    expect([(await place(local)).json.status, (await place(other)).json.status]).toEqual(['active', 'open']))
  test('orders.fields', async () =>
    expect(Object.keys((await place(other)).json)).toEqual([
      'id',
      'cart_id',
      'amount_minor',
      'currency',
      'status',
      'created_at',
    ]))
  test('orders.limits', async () => {
    for (const body of [
      { ...order, cart_id: 'x'.repeat(21) },
      { ...order, amount_minor: 0 },
      { ...order, amount_minor: 1001 },
    ]) {
      expect([(await place(local, body)).status, (await place(other, body)).status]).toEqual([201, 400])
    }
  })
  test('orders.currencies', async () => {
    const dollars = { ...order, currency: 'USD' }
    expect([outcome(await place(local, dollars)), outcome(await place(other, dollars))]).toEqual([
      '201',
      '400 VALIDATION.field.enum',
    ])
  })
  test('orders.gone', async () => {
    const erased = async (service: Service) => {
      const { json } = await place(service)
      const item = (await service.items('acme', 'order')).find(({ id }) => id === json.id)
      if (!item) throw new Error('not stored')
      await service.table.put({ item: { ...item, erased_at: 'x' }, condition: { matches: { version: 1 } } })
      const as = service === local ? { role: 'Viewer' } : who('Viewer')
      return service.call({ path: `/v1/orders/${json.id}`, as, headers: nonce })
    }
    expect([outcome(await erased(local)), outcome(await erased(other))]).toEqual([
      '410 GONE.order',
      '404 NOT_FOUND.order',
    ])
  })
})

describe('lists', () => {
  beforeAll(async () => {
    for (const service of [local, other]) {
      for (let n = 0; n < 5; n += 1)
        await place(service, { ...order, currency: n ? 'EUR' : 'JPY' }, 'Editor', {}, 'listed')
    }
  })
  test('lists.defaultSort', async () => {
    expect([(await list(local)).json.sort, (await list(other)).json.sort]).toEqual([
      'created_at.desc,id.desc',
      'created_at.asc,id.asc',
    ])
  })
  test('lists.offsetPaging', async () => {
    expect(outcome(await list(local, '?limit=2'))).toBe('400 VALIDATION.filter.unknown_key')
    const all = (await list(other, '', 'Viewer', 'listed')).json.data
    expect((await list(other, '?limit=2&offset=1', 'Viewer', 'listed')).json.data).toEqual(all.slice(1, 3))
  })
  test('lists.searchFields', async () => {
    expect((await list(local, '?q=jpy', 'Viewer', 'listed')).json.data).toHaveLength(0)
    expect((await list(other, '?q=jpy', 'Viewer', 'listed')).json.data).toHaveLength(1)
  })
  test('lists.pageSizeZero', async () => {
    expect(outcome(await list(local, '?page_size=0'))).toBe('400 VALIDATION.page_size.min')
    expect((await list(other, '?page_size=0')).json.page_size).toBe(1)
  })
  test('lists.pageSizeAbsurd', async () =>
    expect([
      outcome(await list(local, '?page_size=1001')),
      outcome(await list(other, '?page_size=1001')),
    ]).toEqual(['200', '400 VALIDATION.page_size.max']))
  test('storage.shards', async () => {
    const placed = async (service: Service) => {
      for (let n = 0; n < 12; n += 1) await place(service, order, 'Editor', {}, 'sharded')
      const stored = await service.items('sharded', 'order')
      return new Set(stored.map(({ pk }) => pk)).size
    }
    expect(await placed(local)).toBe(1)
    expect(await placed(other)).toBeGreaterThan(1)
    expect((await list(other, '', 'Viewer', 'sharded')).json.data).toHaveLength(12)
  })
  test('lists.count', async () => {
    expect((await list(local, '', 'Viewer', 'listed')).json.count).toBeNull()
    expect((await list(other, '', 'Viewer', 'listed')).json).toMatchObject({
      count: 5,
      count_strategy: 'exact',
    })
  })
  test('lists.includeDeletedRoles', async () => {
    expect(outcome(await list(local, '?include_deleted=true', 'Editor'))).toBe('403 AUTHZ.filter.denied')
    expect(outcome(await list(other, '?include_deleted=true', 'Editor'))).toBe('200')
  })
  test('lists.maxFilterValues', async () => {
    const three = '?currency.in=EUR,USD,JPY'
    expect([outcome(await list(local, three)), outcome(await list(other, three))]).toEqual([
      '200',
      '400 VALIDATION.filter.value_invalid',
    ])
  })
  test('lists.maxFilterLength', async () => {
    const long = `?cart_id=${'x'.repeat(65)}`
    expect([outcome(await list(local, long)), outcome(await list(other, long))]).toEqual([
      '200',
      '400 VALIDATION.filter.value_invalid',
    ])
  })
  test('lists.maxSearchLength', async () => {
    const long = `?q=${'x'.repeat(41)}`
    expect([outcome(await list(local, long)), outcome(await list(other, long))]).toEqual([
      '200',
      '400 VALIDATION.filter.value_invalid',
    ])
  })
  test('lists.readBudget', async () => {
    for (let n = 0; n < 110; n += 10)
      await Promise.all(Array.from({ length: 10 }, () => place(other, order, 'Editor', {}, 'many')))
    const answer = await list(other, '?status=paid', 'Viewer', 'many')
    expect(answer.json).toMatchObject({ data: [], next_cursor: expect.any(String), count: null })
  })
})

describe('callers', () => {
  const read = (service: Service, as: object, headers = {}) =>
    service.call({ path: '/v1/orders', as, headers })
  test('auth.issuers', async () => {
    const crossed = await other.call({
      path: '/v1/orders',
      as: { ...who('Viewer'), claims: { nonce: 'n', iss: 'https://issuer.localhost' } },
      headers: nonce,
    })
    expect(outcome(crossed)).toBe('401 AUTH.invalid_credentials')
  })
  test('auth.clockToleranceSeconds', async () => {
    const late = { expiresInSeconds: -10 }
    expect(outcome(await read(local, { role: 'Viewer', ...late }))).toBe('401 AUTH.token.expired')
    expect(outcome(await read(other, { ...who('Viewer'), ...late }, nonce))).toBe('200')
  })
  test('errors.expiredToken', async () => {
    const late = { expiresInSeconds: -60 }
    expect(outcome(await read(local, { role: 'Viewer', ...late }))).toBe('401 AUTH.token.expired')
    expect(outcome(await read(other, { ...who('Viewer'), ...late }, nonce))).toBe(
      '401 AUTH.invalid_credentials',
    )
  })
  test('auth.roleClaim', async () => {
    const claims = { nonce: 'n', amr: 'otp', 'cognito:groups': null, roles: 'Viewer' }
    expect(outcome(await read(other, { claims }, nonce))).toBe('403 AUTHZ.role.denied')
  })
  test('auth.scopes and auth.scopeClaim', async () => {
    const denied = await other.call({
      method: 'POST',
      path: '/v1/orders',
      as: { ...who('Editor'), scope: 'other', claims: { nonce: 'n', scope: 'orders:write' } },
      headers: { ...nonce, 'Idempotency-Key': 'k' },
      body: order,
    })
    expect(outcome(denied)).toBe('403 AUTHZ.scope.token')
    expect(denied.headers['WWW-Authenticate']).toContain('scope="orders:write"')
    expect((await place(other)).status).toBe(200)
  })
  test('auth.nonce', async () => {
    expect(outcome(await read(other, { ...who('Viewer'), claims: { amr: 'otp' } }))).toBe(
      '401 AUTH.invalid_credentials',
    )
    expect(outcome(await read(local, { role: 'Viewer' }))).toBe('200')
  })
  test('auth.mfa', async () => {
    const denied = await read(other, { ...who('Viewer'), claims: { nonce: 'n', amr: ['pwd'] } }, nonce)
    expect(outcome(denied)).toBe('403 POLICY.mfa.required')
    expect(denied.headers['WWW-Authenticate']).toContain('insufficient_user_authentication')
    expect(outcome(await read(local, { role: 'Viewer', claims: { amr: ['pwd'] } }))).toBe('200')
  })
  test('auth.crossTenantStatus and auth.adminTenantParameter', async () => {
    expect(outcome(await list(local, '?tenant=rival', 'Editor'))).toBe('404 AUTHZ.scope.tenant')
    expect(outcome(await list(other, '?shop=rival', 'Editor'))).toBe('403 AUTHZ.scope.tenant')
    expect(outcome(await list(other, '?tenant=rival', 'Admin'))).toBe('400 VALIDATION.filter.unknown_key')
    const { json } = await place(other)
    const foreign = await other.call({
      path: `/v1/orders/${json.id}`,
      as: who('Viewer', 'rival'),
      headers: nonce,
    })
    expect(outcome(foreign)).toBe('403 AUTHZ.scope.tenant')
  })
  test('auth.serviceRole', async () =>
    expect([
      (await place(local, order, 'Service')).status,
      (await place(other, order, 'Service')).status,
    ]).toEqual([201, 403]))
  test('cors.allowedOrigins', async () => {
    const from = async (service: Service) =>
      (await service.call({ path: '/health', headers: { Origin: 'https://shop.example.com' } })).headers[
        'Access-Control-Allow-Origin'
      ]
    expect([await from(local), await from(other)]).toEqual([undefined, 'https://shop.example.com'])
  })
})

describe('requests', () => {
  test('idempotency.keyMaxLength', async () => {
    const headers = { 'Idempotency-Key': 'k'.repeat(65) }
    expect(outcome(await place(local, order, 'Editor', headers))).toBe('201')
    expect(outcome(await place(other, order, 'Editor', headers))).toBe(
      '400 VALIDATION.idempotency_key.length',
    )
  })
  test('idempotency.lifetimeHours', async () => {
    for (const [service, hours] of [
      [local, 24],
      [other, 72],
    ] as const) {
      const headers = { 'Idempotency-Key': `lifetime-${hours}` }
      await place(service, order, 'Editor', headers)
      const statuses: unknown[] = []
      for (const minutes of [-1, 1]) {
        const clock = { ...systemClock, now: () => Date.now() + hours * 3_600_000 + minutes * 60_000 }
        const later = await startService({ settings: service.settings, tableName: service.tableName, clock })
        const as = service === local ? { role: 'Editor' } : who('Editor')
        const call = {
          method: 'POST',
          path: '/v1/orders',
          as,
          headers: { ...nonce, ...headers },
          body: order,
        }
        statuses.push((await later.call(call)).headers['Idempotency-Status'])
      }
      expect(statuses).toEqual(['replayed', 'stored'])
    }
  })
  test('idempotency.requiredOn and idempotency.missingKey', async () => {
    const call = (service: Service) =>
      service.call({
        method: 'POST',
        path: '/tests/accepted',
        as: service === local ? {} : who('Editor'),
        headers: nonce,
        body: { a: 1, b: 2 },
      })
    expect([outcome(await call(local)), outcome(await call(other))]).toEqual([
      '201',
      '400 VALIDATION.header.invalid',
    ])
  })
  test('errors.multiField', async () => {
    const call = (service: Service) =>
      service.call({
        method: 'POST',
        path: '/tests/accepted',
        as: service === local ? {} : who('Editor'),
        headers: { ...nonce, 'Idempotency-Key': 'k' },
        body: {},
      })
    expect(Object.keys((await call(local)).json.error.details)).toEqual(['fields'])
    expect(
      (await call(other)).json.error.details.errors.map(({ field }: { field: string }) => field),
    ).toEqual(['a', 'b'])
  })
  test('requests.correlationId', async () => {
    const ids = ['checkout:42', 'x'.repeat(41), 'x'.repeat(40)]
    const keeps = async (service: Service) => {
      const calls = ids.map((id) => service.call({ path: '/health', headers: { 'X-Correlation-Id': id } }))
      const answers = await Promise.all(calls)
      return answers.map(({ headers }, index) => headers['X-Correlation-Id'] === ids[index])
    }
    expect([await keeps(local), await keeps(other)]).toEqual([
      [true, true, true],
      [false, false, true],
    ])
  })
  test('requests.baggageMaxBytes', async () => {
    const headers = { baggage: `first=1,second=${'x'.repeat(20)}` }
    const passedOn = async (service: Service) =>
      (await service.call({ path: '/health', headers })).headers.baggage
    expect([await passedOn(local), await passedOn(other)]).toEqual([headers.baggage, 'first=1'])
  })
  test('requests.tenantName', async () => {
    const statuses = async (service: Service) => {
      const names = ['acme.example_1', 'x'.repeat(17), 'x'.repeat(16)]
      const answers = await Promise.all(names.map((tenant) => list(service, '', 'Viewer', tenant)))
      return answers.map(({ status }) => status)
    }
    expect([await statuses(local), await statuses(other)]).toEqual([
      [200, 200, 200],
      [401, 401, 200],
    ])
  })
  test('requests.timeoutHeader', async () => {
    const answer = async (service: Service, headers: Record<string, string>, step: number) => {
      let now = Date.now()
      // Each read of the clock advances it like a slow step of the request.
      const clock = { ...systemClock, now: () => (now += step) }
      const slow = await startService({ settings: service.settings, tableName: service.tableName, clock })
      const as = service === local ? { role: 'Viewer' } : who('Viewer')
      // A list reads the clock once for each shard.
      const path = `/v1/orders/${idAt(now)}`
      return outcome(await slow.call({ path, as, headers: { ...nonce, ...headers } }))
    }
    const one = { 'X-Request-Timeout': '1' }
    expect([await answer(local, one, 1200), await answer(other, one, 50)]).toEqual([
      '504 DEPENDENCY.timeout',
      '404 NOT_FOUND.order',
    ])
    // Without the header the maximum budget applies: ten seconds in one deployment, twenty-five in the other.
    expect([await answer(local, {}, 1750), await answer(other, {}, 1750)]).toEqual([
      '504 DEPENDENCY.timeout',
      '404 NOT_FOUND.order',
    ])
  })
  test('limits.defaultBodyKilobytes and limits.tooLarge', async () => {
    const call = (service: Service) => service.call({ path: '/health', body: 'x'.repeat(9000) })
    expect([outcome(await call(local)), outcome(await call(other))]).toEqual([
      '200',
      '413 VALIDATION.body.invalid',
    ])
  })
  test('errors.unsupportedMedia', async () => {
    const headers = { 'Content-Type': 'text/plain' }
    expect([
      outcome(await place(local, order, 'Editor', headers)),
      outcome(await place(other, order, 'Editor', headers)),
    ]).toEqual(['415 VALIDATION.content_type.unsupported', '400 VALIDATION.content_type.unsupported'])
  })
  test('errors.notAcceptable', async () => {
    const call = (service: Service) => place(service, order, 'Editor', { Accept: 'text/html' })
    expect([outcome(await call(local)), outcome(await call(other))]).toEqual([
      '406 VALIDATION.accept.unsupported',
      '400 VALIDATION.accept.unsupported',
    ])
  })
  test('health.body and health.mediaType', async () => {
    const { json, headers } = await other.call({ path: '/health' })
    expect([json, headers['Content-Type']]).toEqual([{ ok: true }, 'application/json'])
  })
})
