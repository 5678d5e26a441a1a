import { afterAll } from '@jest/globals'
import { createApiKey } from '#bin/commands/api-keys/api-keys.ts'
import { mailKey } from '#shared/otp/code-mail.ts'
import { readSecret } from '#shared/platform/aws/secrets-manager.ts'
import { newId, startBudget, systemClock } from '#shared/platform/base/clock.ts'
import { startHttpServer } from '#test/support/http-server.ts'
import { newEmail, newSession, requestCode } from '#test/support/one-time-codes.ts'
import { outcome } from '#test/support/outcome.ts'
import { type Identity, localSettings } from '#test/support/settings.ts'
import { each, newTenantOf, type Row, type Tenant, testChanges } from './changes.ts'

const absent = newId(systemClock)
const issuer = 'https://login.example.com'
const invalid = '401 AUTH.invalid_credentials'

/** Lists orders with a token that differs. */
const listed =
  (as: Identity, headers = {}) =>
  async ({ orders }: Tenant) =>
    outcome(await orders('', { as, headers }))

/** Calls with an API key of these scopes; by default, reads an order that does not exist. */
const byKey =
  (scopes: string[], path = `/v1/orders/${absent}`, header?: string) =>
  async ({ service, settings, tenant }: Tenant) => {
    const made = await createApiKey(
      { table: service.table, clock: systemClock, name: 'jane' },
      { tenant, name: 'n', scopes },
    )
    const headers = { [header ?? settings['auth.apiKeyHeader']]: made.key }
    return (await service.call({ path, headers })).status
  }

/** Verifies a discount code with the headers of a session. */
const verify = ({ service }: Tenant, session: Record<string, string>) => {
  const headers = { 'Idempotency-Key': crypto.randomUUID(), ...session }
  return service.call({ method: 'POST', path: '/discount/verify', headers, body: { code: 'X' } })
}

/** Reads a secret that changes, with a pause. */
async function secretAfter(seconds: number, { settings }: Tenant): Promise<string> {
  const [arn, budget] = [crypto.randomUUID(), startBudget(systemClock, 10_000)]
  let now = Date.now()
  const read = () => readSecret(arn, { settings, clock: { ...systemClock, now: () => now }, budget })
  secret = 'first'
  await read()
  secret = 'second'
  now += seconds * 1000
  return (await read()).text
}
let secret: string
const secrets = await startHttpServer((_, response) => {
  response
    .writeHead(200, { 'content-type': 'application/x-amz-json-1.1' })
    .end(JSON.stringify({ SecretString: secret }))
})
const credentials = { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test', AWS_REGION: 'us-east-1' }
Object.assign(process.env, credentials, { AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets.url })
afterAll(secrets.stop)

// biome-ignore format: a table of rows
const rows: Row[] = [
  ['auth.issuers',
    localSettings['auth.issuers'].flatMap((one) => [one, { ...one, issuer, audience: 'shop', types: ['JWT'] }]),
    listed({ claims: { iss: issuer, aud: 'shop' }, header: { typ: 'JWT' } }), '200'],
  ['auth.clockToleranceSeconds', 30, listed({ expiresInSeconds: -10 }), '200'],
  ['auth.issuers', localSettings['auth.issuers'].map((one) => ({ ...one, tenants: ['globex'] })),
    async ({ settings }) => each(['globex', 'acme'], async (tenant) => outcome(await (await newTenantOf(settings, { tenant })).orders())),
    ['200', invalid]],
  ['auth.maxTokenSeconds', 3600, listed({ expiresInSeconds: 3601 }), invalid],
  ['auth.issuers', localSettings['auth.issuers'].map((one) => ({ ...one, claims: { ...one.claims, roles: ['groups'] } })),
    listed({ claims: { groups: null, roles: 'Viewer' } }), '403 AUTHZ.role.denied'],
  ['auth.scopes', { 'orders.create': 'orders:write' }, async ({ place }) => {
    const answer = await place({}, { as: { scope: 'other' } })
    return [outcome(answer), /scope="[^"]*"/.exec(answer.headers['WWW-Authenticate'] ?? '')?.[0]]
  }, ['403 AUTHZ.scope.token', 'scope="orders:write"']],
  ['auth.nonce', { mode: 'required' }, listed({}), invalid],
  ['auth.nonce', { mode: 'off' }, listed({ claims: { nonce: 'n' } }), '200'],
  ['auth.nonce', { header: 'X-Nonce' }, listed({ claims: { nonce: 'n' } }, { 'X-Nonce': 'n' }), '200'],
  ['auth.mfa', { operations: ['orders.list'], claim: ['login', 'acr'], value: 'otp' }, async ({ orders }) => {
    const answers = await each([{ amr: ['mfa'] }, { login: { acr: 'otp' } }], (claims) =>
      orders('', { as: { claims } }),
    )
    const hint = answers[0]?.headers['WWW-Authenticate'] ?? ''
    return [...answers.map(outcome), hint.includes('insufficient_user_authentication'), answers[0]?.json.error?.details.claim]
  }, ['403 POLICY.mfa.required', '200', true, ['login', 'acr']]],
  ['auth.crossTenantStatus', 403, async ({ place, orders, settings }) => {
    const path = `/v1/orders/${(await place()).json.id}`
    const { call } = await newTenantOf(settings)
    return [await orders('?tenant=rival', { role: 'Editor' }), await call('GET', path)].map(outcome)
  }, ['403 AUTHZ.scope.tenant', '403 AUTHZ.scope.tenant']],
  ['auth.adminTenantParameter', 'shop',
    ({ orders }) => each(['tenant', 'shop'], async (one) => outcome(await orders(`?${one}=rival`, { role: 'Admin' }))),
    ['400 VALIDATION.filter.unknown_key', '200']],
  ['auth.serviceRole', { actsAs: 'Viewer' }, async ({ place }) => outcome(await place({}, { role: 'Service' })),
    '403 AUTHZ.role.denied'],
  ['auth.apiKeyHeader', 'X-Service-Key',
    (tenant) => each(['X-Api-Key', 'X-Service-Key'], (header) => byKey(['codes:read'], '/codes', header)(tenant)),
    [401, 200]],
  ['auth.operationScopes', { 'orders.read': 'sales' }, byKey(['sales']), 404],
  ['auth.operationScopes', { 'operations.read': null }, byKey(['operations:read'], '/operations/x'), 403],
  ['auth.apiKeyPermissions', 'role', // A key with scopes gets no others by its role.
    (tenant) => each([[], ['codes:read']], (scopes) => byKey(scopes)(tenant)), [404, 403]],
  ['auth.sessionOperations', ['orders.read'], async (tenant) => {
    const { headers } = await newSession(tenant.service)
    const read = await tenant.service.call({ path: `/v1/orders/${absent}`, headers })
    return [await verify(tenant, headers), read].map(outcome)
  }, [invalid, '404 NOT_FOUND.order']],
  ['auth.csrf', { header: 'X-XSRF-Token', status: 419 }, async (tenant) => {
    const { headers } = await newSession(tenant.service)
    const { Cookie = '', ...token } = headers
    const answers = [await verify(tenant, headers), await verify(tenant, { Cookie })]
    return [...Object.keys(token), ...answers.map(outcome)]
  }, ['X-XSRF-Token', '200', '419 AUTHZ.csrf.token']],
  ['secrets.maxAgeSeconds', 60, (tenant) => secretAfter(60, tenant), 'second'],
  ['auth.publicTenant', 'shoppers', async ({ service }) => {
    const { json } = await requestCode(service, newEmail())
    return (await service.table.get(mailKey(json.message_id)))?.tenant_id
  }, 'shoppers'],
  ['cors.allowedOrigins', ['https://shop.example.com'],
    async ({ health }) => (await health({ headers: { Origin: 'https://shop.example.com' } })).headers['Access-Control-Allow-Origin'],
    'https://shop.example.com'],
  ['lists.includeDeletedRoles', ['Editor'], async ({ orders, make: create, softDelete, list, editor }) => {
    await softDelete(editor, (await create()).id)
    const ofCodes = await list(editor, { include_deleted: 'true' })
    const ofOrders = await orders('?include_deleted=true', { role: 'Editor' })
    return [outcome(ofOrders), outcome(ofCodes), ofCodes.json.data?.length]
  }, ['200', '200', 1]],
  ['requests.tenantName', { punctuation: '-', maxLength: 16 },
    ({ settings }) => each(['acme.example_1', 'x'.repeat(17), 'x'.repeat(16)], async (tenant) => outcome(await (await newTenantOf(settings, { tenant })).orders())),
    [invalid, invalid, '200']],
]

testChanges(rows, newTenantOf)
