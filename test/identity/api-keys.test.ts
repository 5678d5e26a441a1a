import { describe, expect, test } from '@jest/globals'
import {
  createApiKey,
  listApiKeys,
  revokeApiKey,
  rotateApiKey,
  scopesOf,
} from '#bin/commands/api-keys/api-keys.ts'
import { type RouteEntry, routes } from '#functions/routes.ts'
import { tableUseOf } from '#lib/access/table-use.ts'
import { systemClock } from '#shared/platform/base/clock.ts'
import { readApiKey } from '#shared/platform/identity/api-key.ts'
import { outcome } from '#test/support/outcome.ts'
import { startService } from '#test/support/service.ts'
import { localSettings } from '#test/support/settings.ts'

let now = Date.parse('2026-03-01T12:00:00Z')
const clock = {
  ...systemClock,
  now: () => now,
  // A list is not returned within the millisecond of its upper bound.
  sleep: async (milliseconds: number) => {
    now += milliseconds
  },
}
const service = await startService({ clock })
const operator = { table: service.table, clock, name: 'jane' }

const scopes = [
  ...new Set(Object.values(localSettings['auth.operationScopes']).flatMap((scope) => scope ?? [])),
]
const newKey = (tenant: string, name = 'a test') => createApiKey(operator, { tenant, name, scopes })
const ordersBy = (key: string) => service.call({ path: '/v1/orders', headers: { 'X-Api-Key': key } })
const unknown = '401 AUTH.invalid_credentials'

test('a token whose subject is that of a key neither repeats its requests nor is audited as the key', async () => {
  const { key, key_id } = await newKey('lookalike')
  const sub = `api-key:${key_id}`
  const place = (credential: object, headers = {}) =>
    service.call({
      method: 'POST',
      path: '/codes',
      body: { code: 'ONE', type: 'percent-10', name: 'One', expiry_at: '2099-01-01T00:00:00Z' },
      headers: { 'Idempotency-Key': 'k', ...headers },
      ...credential,
    })
  expect((await place({}, { 'X-Api-Key': key })).headers['Idempotency-Status']).toBe('stored')
  const as = { tenant: 'lookalike', role: 'Editor', sub, scope: 'codes:write' }
  expect(outcome(await place({ as }))).toBe('409 CONFLICT.code.exists')
  await service.call({ path: '/v1/orders?tenant=other', headers: { 'X-Api-Key': key } })
  await service.call({ path: '/v1/orders?tenant=other', as })
  const records = await service.items('lookalike', 'audit')
  const denials = records.filter(({ action }) => action === 'orders.list')
  expect(denials.map(({ actor_id, issuer }) => [actor_id, issuer])).toEqual([
    [sub, 'urn:commerce-api:api-keys'],
    [sub, 'https://issuer.localhost'],
  ])
})

describe('an API key', () => {
  test('has the role Service in its tenant', async () => {
    const { key, ...line } = await newKey('keyed')
    const placed = await service.call({
      method: 'POST',
      path: '/v1/orders',
      headers: { 'X-Api-Key': key, 'Idempotency-Key': 'k' },
      body: { cart_id: 'c', amount_minor: 1, currency: 'EUR' },
    })
    expect(placed).toMatchObject({ status: 201, json: { tenant_id: 'keyed' } })
    expect((await ordersBy(key)).json.data).toHaveLength(1)
    expect((await ordersBy((await newKey('neighbour')).key)).json.data).toEqual([])
    const elsewhere = await service.call({
      path: '/v1/orders?tenant=neighbour',
      headers: { 'X-Api-Key': key },
    })
    expect(outcome(elsewhere)).toBe('404 AUTHZ.scope.tenant')
    expect(await service.items('keyed', 'audit')).toContainEqual(
      expect.objectContaining({ actor_id: `api-key:${line.key_id}`, role: 'Service', result: 'deny' }),
    )
  })

  test('is listed without its secret', async () => {
    const { key, ...line } = await newKey('hidden')
    expect(line).toMatchObject({ tenant_id: 'hidden', name: 'a test', scopes, state: 'active' })
    const lines: unknown[] = []
    for await (const one of listApiKeys(service.table, 'hidden', clock)) lines.push(one)
    expect(lines).toEqual([line])
    expect(JSON.stringify(lines)).not.toContain(readApiKey(key)?.secret)
  })

  test('without the scope of an operation is denied', async () => {
    const others = scopes.filter((scope) => scope !== localSettings['auth.operationScopes']['orders.list'])
    const { key } = await createApiKey(operator, { tenant: 'narrow', name: 'n', scopes: others })
    expect(outcome(await ordersBy(key))).toBe('403 AUTHZ.scope.token')
  })

  test('is revoked at once', async () => {
    const { key, ...line } = await newKey('revoked')
    await revokeApiKey(operator, 'revoked', line.key_id)
    expect(outcome(await ordersBy(key))).toBe(unknown)
    await expect(revokeApiKey(operator, 'revoked', line.key_id)).rejects.toThrow('not active')
    await expect(
      rotateApiKey(operator, { tenant: 'revoked', id: line.key_id, overlapSeconds: 1 }),
    ).rejects.toThrow('not active')
  })

  test('that was rotated stays valid for the announced time, and its successor is valid at once', async () => {
    const tenant = 'changed'
    const { key, ...line } = await newKey(tenant)
    const next = await rotateApiKey(operator, { tenant, id: line.key_id, overlapSeconds: 60 })
    expect([next.scopes, next.name]).toEqual([line.scopes, line.name])
    now += 60_000
    expect([(await ordersBy(key)).status, (await ordersBy(next.key)).status]).toEqual([200, 200])
    now += 1
    expect([outcome(await ordersBy(key)), outcome(await ordersBy(next.key))]).toEqual([unknown, '200'])
    const third = await rotateApiKey(operator, {
      tenant,
      id: next.key_id,
      overlapSeconds: undefined,
    })
    now += 1e9
    expect([(await ordersBy(next.key)).status, (await ordersBy(third.key)).status]).toEqual([200, 200])
    const audit = await service.items(tenant, 'audit')
    expect(audit.map(({ actor_id, action, result }) => `${actor_id} ${action} ${result}`).toSorted()).toEqual(
      ['jane api_key.create allow', 'jane api_key.rotate allow', 'jane api_key.rotate allow'],
    )
    for (const one of [key, next.key, third.key])
      expect(JSON.stringify(audit)).not.toContain(one.split('.')[2])
  })
})

test('every operation that accepts a key can read the keys', () => {
  const isForKeys = ({ route }: RouteEntry) => localSettings['auth.operationScopes'][route.operation] !== null
  const bearer = routes.filter((entry) => entry.route.auth === 'bearer' && isForKeys(entry))
  expect(bearer.length).toBeGreaterThan(0)
  for (const { route } of bearer) expect(tableUseOf(route, localSettings).get).toContain('api_key')
})

describe('the scopes of a new key', () => {
  const known = 'codes:read orders:read'

  test('are those of the command line', () =>
    expect(scopesOf('orders:read  codes:read', known)).toEqual(['orders:read', 'codes:read']))

  test.each(['orders:reed', 'orders:read,codes:read', 'orders:read *'])('cannot be %j', (text) =>
    expect(() => scopesOf(text, known)).toThrow(/^unknown scope: .*The scopes are: codes:read orders:read$/),
  )

  test.each([undefined, '', ' '])('are required: %j', (text) =>
    expect(() => scopesOf(text, known)).toThrow(/^--scope is required/),
  )
})
