import { describe } from '@jest/globals'
import * as v from 'valibot'
import { systemClock } from '#shared/platform/base/clock.ts'
import { created, defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { defineRoute } from '#shared/platform/request/route.ts'
import { idAt } from '#test/support/ids.ts'
import { outcome } from '#test/support/outcome.ts'
import { type Answer, type Service, startService } from '#test/support/service.ts'
import type { Identity } from '#test/support/settings.ts'
import { type Options, type Row, type Tenant, tenantOf, twoDeployments } from './two-deployments.ts'

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
const extra = [accepted]
const { expectChanges } = await twoDeployments((settings) => ({ settings, extra }))

/** Returns the outcomes of calls, one after the other. */
async function outcomes(...calls: (() => Promise<Answer>)[]): Promise<string[]> {
  const found: string[] = []
  for (const call of calls) found.push(outcome(await call()))
  return found
}
/** Returns the same deployment at another time. */
const at = ({ settings, tableName }: Service, now: () => number) =>
  startService({ settings, tableName, clock: { ...systemClock, now } })
const each = async <T>(values: T[], call: (value: T) => Promise<Answer>) =>
  outcomes(...values.map((value) => () => call(value)))
const health = ({ call }: Tenant, options: Options = {}) => call('GET', '/health', options)

describe('orders', () =>
  expectChanges([
    ['orders.createStatus', async ({ place }) => (await place()).status, 201, 200],
    ['orders.statuses', async ({ place }) => (await place()).json.status, 'active', 'open'],
    [
      'orders.fields',
      async ({ place }) => Object.keys((await place()).json),
      ['id', 'tenant_id', 'cart_id', 'amount_minor', 'currency', 'status', 'created_at', 'updated_at'],
      ['id', 'cart_id', 'amount_minor', 'currency', 'status', 'created_at'],
    ],
    [
      'orders.limits',
      ({ place }) => each([{ cart_id: 'x'.repeat(21) }, { amount_minor: 0 }, { amount_minor: 1001 }], place),
      ['201', '201', '201'],
      ['400 VALIDATION.field.length', ...Array(2).fill('400 VALIDATION.field.range')],
    ],
    [
      'orders.currencies',
      async ({ place }) => outcome(await place({ currency: 'USD' })),
      '201',
      '400 VALIDATION.field.enum',
    ],
    [
      'orders.gone',
      async ({ tenant, place, call }, service) => {
        const { json } = await place()
        const [item] = await service.items(tenant, 'order')
        const condition = { matches: { version: 1 } }
        await service.table.put({ item: { ...item, erased_at: 'x' } as never, condition })
        return outcome(await call('GET', `/v1/orders/${json.id}`))
      },
      '410 GONE.order',
      '404 NOT_FOUND.order',
    ],
  ]))

describe('lists', () => {
  /** Places three orders, the first of them in yen. */
  const three = async ({ place }: Tenant): Promise<string[]> => {
    const placed = [await place({ currency: 'JPY' }), await place(), await place()]
    return placed.map(({ json }) => json.id)
  }
  const long: Row[] = [
    ['lists.maxFilterValues', '?currency.in=EUR,USD,JPY'],
    ['lists.maxFilterLength', `?cart_id=${'x'.repeat(65)}`],
    ['lists.maxSearchLength', `?q=${'x'.repeat(41)}`],
  ].map(([key = '', query]) => [
    key,
    async ({ orders }) => outcome(await orders(query)),
    '200',
    '400 VALIDATION.filter.value_invalid',
  ])
  expectChanges([
    ...long,
    [
      'lists.defaultSort',
      async ({ orders }) => (await orders()).json.sort,
      'created_at.desc,id.desc',
      'created_at.asc,id.asc',
    ],
    [
      'lists.offsetPaging',
      async (tenant) => {
        const ids = await three(tenant)
        const { json } = await tenant.orders('?limit=2&offset=1')
        return json.error?.code ?? json.data.map(({ id }: { id: string }) => ids.indexOf(id))
      },
      'VALIDATION.filter.unknown_key',
      [1, 2],
    ],
    [
      'lists.searchFields',
      async (tenant) => {
        await three(tenant)
        return (await tenant.orders('?q=jpy')).json.data.length
      },
      0,
      1,
    ],
    [
      'lists.pageSizeZero',
      async ({ orders }) => {
        const { json } = await orders('?page_size=0')
        return json.error?.code ?? json.page_size
      },
      'VALIDATION.page_size.min',
      1,
    ],
    [
      'lists.pageSizeAbsurd',
      async ({ orders }) => outcome(await orders('?page_size=1001')),
      '200',
      '400 VALIDATION.page_size.max',
    ],
    [
      'storage.shards',
      async (_, service) => {
        const { place, orders } = tenantOf(service, 'sharded')
        for (let n = 0; n < 12; n += 1) await place()
        const partitions = new Set((await service.items('sharded', 'order')).map(({ pk }) => pk))
        return [partitions.size > 1, (await orders()).json.data.length]
      },
      [false, 12],
      [true, 12],
    ],
    [
      'lists.count',
      async (tenant) => {
        await three(tenant)
        const { count, count_strategy: strategy } = (await tenant.orders()).json
        return [count, strategy]
      },
      [null, undefined],
      [3, 'exact'],
    ],
    [
      'lists.includeDeletedRoles',
      async ({ orders }) => outcome(await orders('?include_deleted=true', { role: 'Editor' })),
      '403 AUTHZ.filter.denied',
      '200',
    ],
    [
      'lists.readBudget',
      async ({ place, orders }) => {
        for (let n = 0; n < 110; n += 10) await Promise.all(Array.from({ length: 10 }, () => place()))
        const { data, next_cursor: cursor, count } = (await orders('?status=paid')).json
        return [data.length, cursor === null, count]
      },
      [0, true, null],
      [0, false, null],
    ],
  ])
})

describe('callers', () => {
  const listed =
    (as: Identity, headers = {}) =>
    async ({ orders }: Tenant) =>
      outcome(await orders('', { as, headers }))
  const invalid = '401 AUTH.invalid_credentials'
  const expired = '401 AUTH.token.expired'
  expectChanges([
    [
      'auth.issuers',
      listed({ claims: { nonce: 'n', amr: ['otp'], iss: 'https://issuer.localhost' } }),
      '200',
      invalid,
    ],
    ['auth.clockToleranceSeconds', listed({ expiresInSeconds: -10 }), expired, '200'],
    ['errors.expiredToken', listed({ expiresInSeconds: -60 }), expired, invalid],
    [
      'auth.roleClaim',
      listed({ claims: { nonce: 'n', amr: 'otp', 'cognito:groups': null, roles: 'Viewer' } }),
      '200',
      '403 AUTHZ.role.denied',
    ],
    [
      'auth.scopes and auth.scopeClaim',
      async ({ place }) => {
        const as = { scope: 'other', claims: { nonce: 'n', scope: 'orders:write' } }
        const answer = await place({}, { as })
        return [outcome(answer), /scope="[^"]*"/.exec(answer.headers['WWW-Authenticate'] ?? '')?.[0]]
      },
      ['201', undefined],
      ['403 AUTHZ.scope.token', 'scope="orders:write"'],
    ],
    ['auth.nonce', listed({ claims: { amr: ['otp'] } }), '200', invalid],
    [
      'auth.mfa',
      async ({ orders }) => {
        const answer = await orders('', { as: { claims: { nonce: 'n', amr: ['pwd'] } } })
        const hint = answer.headers['WWW-Authenticate'] ?? ''
        return [outcome(answer), hint.includes('insufficient_user_authentication')]
      },
      ['200', false],
      ['403 POLICY.mfa.required', true],
    ],
    [
      'auth.crossTenantStatus and auth.adminTenantParameter',
      async ({ place, orders }, service) => {
        const parameter = service.settings['auth.adminTenantParameter']
        const { id } = (await place()).json
        return outcomes(
          () => orders(`?${parameter}=rival`, { role: 'Editor' }),
          () => orders('?tenant=rival', { role: 'Admin' }),
          () => tenantOf(service).call('GET', `/v1/orders/${id}`),
        )
      },
      ['404 AUTHZ.scope.tenant', '200', '404 NOT_FOUND.order'],
      ['403 AUTHZ.scope.tenant', '400 VALIDATION.filter.unknown_key', '403 AUTHZ.scope.tenant'],
    ],
    [
      'auth.serviceRole',
      async ({ place }) => outcome(await place({}, { role: 'Service' })),
      '201',
      '403 AUTHZ.role.denied',
    ],
    [
      'cors.allowedOrigins',
      async (tenant) =>
        (await health(tenant, { headers: { Origin: 'https://shop.example.com' } })).headers[
          'Access-Control-Allow-Origin'
        ],
      undefined,
      'https://shop.example.com',
    ],
  ])
})

describe('requests', () => {
  const accept = ({ call }: Tenant, options: Options) => call('POST', '/tests/accepted', options)
  const withoutKey = { 'Idempotency-Key': undefined }
  const hour = 3_600_000
  expectChanges([
    [
      'idempotency.keyMaxLength',
      async ({ place }) => outcome(await place({}, { headers: { 'Idempotency-Key': 'k'.repeat(65) } })),
      '201',
      '400 VALIDATION.idempotency_key.length',
    ],
    [
      'idempotency.lifetimeHours',
      async ({ tenant, place }, service) => {
        const statuses: unknown[] = []
        for (const hours of [23.9, 24.1, 71.9, 72.1]) {
          const headers = { 'Idempotency-Key': `after-${hours}` }
          await place({}, { headers })
          const later = tenantOf(await at(service, () => Date.now() + hours * hour), tenant)
          statuses.push((await later.place({}, { headers })).headers['Idempotency-Status'])
        }
        return statuses
      },
      ['replayed', 'stored', 'stored', 'stored'],
      ['replayed', 'replayed', 'replayed', 'stored'],
    ],
    [
      'idempotency.requiredOn and idempotency.missingKey',
      async (tenant) => outcome(await accept(tenant, { body: { a: 1, b: 2 }, headers: withoutKey })),
      '201',
      '400 VALIDATION.header.invalid',
    ],
    [
      'errors.multiField',
      async (tenant) => {
        const { details } = (await accept(tenant, { body: {} })).json.error
        return [Object.keys(details), details.errors?.map(({ field }: { field: string }) => field)]
      },
      [['fields'], undefined],
      [
        ['fields', 'errors'],
        ['a', 'b'],
      ],
    ],
    [
      'requests.correlationId',
      async (tenant) => {
        const kept: boolean[] = []
        for (const id of ['checkout:42', 'x'.repeat(41), 'x'.repeat(40)]) {
          const { headers } = await health(tenant, { headers: { 'X-Correlation-Id': id } })
          kept.push(headers['X-Correlation-Id'] === id)
        }
        return kept
      },
      [true, true, true],
      [false, false, true],
    ],
    [
      'requests.baggageMaxBytes',
      async (tenant) =>
        (await health(tenant, { headers: { baggage: `first=1,second=${'x'.repeat(20)}` } })).headers.baggage,
      `first=1,second=${'x'.repeat(20)}`,
      'first=1',
    ],
    [
      'requests.tenantName',
      (_, service) =>
        each(['acme.example_1', 'x'.repeat(17), 'x'.repeat(16)], (name) => tenantOf(service, name).orders()),
      ['200', '200', '200'],
      ['401 AUTH.invalid_credentials', '401 AUTH.invalid_credentials', '200'],
    ],
    [
      'requests.timeoutHeader',
      async ({ tenant }, service) => {
        // Each read of the clock advances it like a slow step of the request. A list reads it once for each shard.
        const read =
          (step: number, headers = {}) =>
          async () => {
            let now = Date.now()
            const slow = tenantOf(await at(service, () => (now += step)), tenant)
            return slow.call('GET', `/v1/orders/${idAt(now)}`, { headers })
          }
        const one = { 'X-Request-Timeout': '1' }
        // Without the header the maximum budget applies: 10 s in one deployment, 25 s in the other.
        return outcomes(read(1200, one), read(50, one), read(1750))
      },
      ['504 DEPENDENCY.timeout', '404 NOT_FOUND.order', '504 DEPENDENCY.timeout'],
      ['504 DEPENDENCY.timeout', '404 NOT_FOUND.order', '404 NOT_FOUND.order'],
    ],
    [
      'limits.defaultBodyKilobytes and limits.tooLarge',
      async (tenant) => outcome(await health(tenant, { body: 'x'.repeat(9000) })),
      '200',
      '413 VALIDATION.body.invalid',
    ],
    [
      'errors.unsupportedMedia',
      async ({ place }) => outcome(await place({}, { headers: { 'Content-Type': 'text/plain' } })),
      '415 VALIDATION.content_type.unsupported',
      '400 VALIDATION.content_type.unsupported',
    ],
    [
      'errors.notAcceptable',
      async ({ place }) => outcome(await place({}, { headers: { Accept: 'text/html' } })),
      '406 VALIDATION.accept.unsupported',
      '400 VALIDATION.accept.unsupported',
    ],
    [
      'health.body and health.mediaType',
      async (tenant) => {
        const { json, headers } = await health(tenant)
        return [json, headers['Content-Type']]
      },
      [{ status: 'pass' }, 'application/health+json'],
      [{ ok: true }, 'application/json'],
    ],
  ])
})
