import { afterAll, describe, expect, test } from '@jest/globals'
import { createApiKey, listApiKeys, revokeApiKey, rotateApiKey } from '#bin/commands/api-keys/api-keys.ts'
import { systemClock } from '#shared/platform/base/clock.ts'
import { outcome } from '#test/support/outcome.ts'
import { startPaymentProvider } from '#test/support/payment-provider/payment-provider.ts'
import { startService } from '#test/support/service.ts'
import { profile } from '#test/support/settings.ts'

let now = Date.parse('2026-03-01T12:00:00Z')
const clock = { ...systemClock, now: () => now }
const provider = await startPaymentProvider()
const service = await startService({
  clock,
  settings: profile('shared/settings/profiles/local.json', {
    'refunds.provider': { endpoint: provider.endpoint, attemptMilliseconds: 10_000 },
    'limits.other': {
      'discount.verify': [{ limit: 2, windowSeconds: 60, per: 'principal', counts: 'failures' }],
    },
  }),
})
afterAll(() => provider.stop())

const operator = { table: service.table, clock, name: 'jane' }
const scopes = ['orders:write', 'refunds:write', 'codes:write', 'discounts:verify']
const newKey = (tenant: string) => createApiKey(operator, { tenant, name: 'a test', scopes })
const rotated = (tenant: string, id: string, overlapSeconds?: number) =>
  rotateApiKey(operator, { tenant, id, overlapSeconds })
const post = (key: string, path: string, body: object, idempotencyKey = 'k') =>
  service.call({
    method: 'POST',
    path,
    headers: { 'X-Api-Key': key, 'Idempotency-Key': idempotencyKey },
    body,
  })
async function statesOf(tenant: string): Promise<string[]> {
  const states: string[] = []
  for await (const { state } of listApiKeys(service.table, tenant, clock)) states.push(state)
  return states
}
const refundsOf = (tenant: string) => provider.refunds().filter(({ account }) => account === `acct_${tenant}`)

describe('a request that is repeated with a rotated key', () => {
  test.each([
    ['/v1/orders', { cart_id: 'c', amount_minor: 1, currency: 'EUR' }],
    ['/v1/refunds', { charge_id: 'ch_repeated', amount: 700 }],
    ['/codes', { code: 'ONE', type: 'percent-10', name: 'One', expiry_at: '2099-01-01T00:00:00Z' }],
  ])('is replayed: POST %s', async (path, body) => {
    const tenant = `repeated-${path.split('/').at(-1)}`
    const { key, key_id } = await newKey(tenant)
    const first = await post(key, path, body)
    const next = await rotated(tenant, key_id)
    const again = await post((await rotated(tenant, next.key_id)).key, path, body)
    expect(first.headers['Idempotency-Status']).toBe('stored')
    expect(again.headers['Idempotency-Status']).toBe('replayed')
    expect(again.body).toBe(first.body)
    if (path === '/v1/refunds') expect(refundsOf(tenant)).toHaveLength(1)
  })

  test('continues what the old key began, which stays its work in the audit', async () => {
    const { key, key_id } = await newKey('interrupted')
    const body = { charge_id: 'ch_declined_interrupted', amount: 700 }
    provider.faults = () => ({ when: 'before', how: 'reset' })
    const interrupted = await post(key, '/v1/refunds', body)
    provider.faults = () => undefined
    const next = await rotated('interrupted', key_id)
    const continued = await post(next.key, '/v1/refunds', body)
    expect(outcome(interrupted)).toBe('503 DEPENDENCY.unavailable')
    expect(outcome(continued)).toBe('409 POLICY.refund.declined')
    const refunds = (await service.items('interrupted', 'audit')).filter(({ action }) => action === 'refund')
    expect(refunds.map(({ result, token_sub }) => `${result} ${token_sub}`)).toEqual([
      `allow api-key:${key_id}`,
    ])
  })
})

describe('a rotated key', () => {
  test('shares the throttles of the old one', async () => {
    const { key, key_id } = await newKey('throttled')
    const verify = (by: string) =>
      service.call({
        method: 'POST',
        path: '/discount/verify',
        headers: { 'X-Api-Key': by, 'Idempotency-Key': crypto.randomUUID() },
        body: { code: 'NONE' },
      })
    for (let n = 0; n < 2; n += 1) expect((await verify(key)).status).toBe(200)
    const next = await rotated('throttled', key_id)
    expect(outcome(await verify(next.key))).toBe('429 RATE_LIMIT.exceeded')
  })

  test('creates in the name of the first one, and the audit names the key that was used', async () => {
    const { key_id } = await newKey('owned')
    const next = await rotated('owned', key_id)
    const body = { code: 'TWO', type: 'percent-10', name: 'Two', expiry_at: '2099-01-01T00:00:00Z' }
    const { json } = await post(next.key, '/codes', body)
    await post(next.key, `/codes/${json.id}:share`, { grantee_tenant: 'owned' })
    expect(json.created_by).toBe(`api-key:${key_id}`)
    expect(await service.items('owned', 'audit')).toContainEqual(
      expect.objectContaining({
        action: 'share',
        actor_id: `api-key:${key_id}`,
        token_sub: `api-key:${next.key_id}`,
      }),
    )
  })

  test('is in the audit of the rotation with the old one', async () => {
    const { key_id } = await newKey('named')
    const next = await rotated('named', key_id, 60)
    expect(await service.items('named', 'audit')).toContainEqual(
      expect.objectContaining({
        action: 'api_key.rotate',
        actor_id: 'jane',
        target: `api_key/${key_id}`,
        before: { key_id },
        after: { key_id: next.key_id, scopes, overlap_seconds: 60 },
      }),
    )
  })
})

describe('a key that is not active', () => {
  test('because it ends or has expired is not prolonged by a second rotation', async () => {
    const { key, key_id } = await newKey('ending')
    await rotated('ending', key_id, 60)
    expect(await statesOf('ending')).toEqual(['ending', 'active'])
    await expect(rotated('ending', key_id, 3600)).rejects.toThrow('not active')
    now += 60_001
    for (const overlap of [60, undefined])
      await expect(rotated('ending', key_id, overlap)).rejects.toThrow('not active')
    expect(outcome(await post(key, '/v1/refunds', {}))).toBe('401 AUTH.invalid_credentials')
    expect(await statesOf('ending')).toEqual(['expired', 'active'])
  })

  test('because it was revoked is not active again after its end', async () => {
    const { key_id } = await newKey('revoked')
    await rotated('revoked', key_id, 60)
    await revokeApiKey(operator, 'revoked', key_id)
    now += 60_001
    await expect(rotated('revoked', key_id, 60)).rejects.toThrow('not active')
    expect(await statesOf('revoked')).toEqual(['revoked', 'active'])
  })

  test.each<[string, (id: string) => Promise<unknown>]>([
    ['rotated', (id) => rotated('raced-rotated', id, 60)],
    ['revoked', (id) => revokeApiKey(operator, 'raced-revoked', id)],
  ])('because it is %s during a rotation is not rotated', async (how, end) => {
    const tenant = `raced-${how}`
    const { key_id } = await newKey(tenant)
    const slow = {
      ...service.table,
      get: async (at: { pk: string; sk: string }) => {
        const read = await service.table.get(at)
        await end(key_id)
        return read
      },
    }
    const keys = async () => (await service.items(tenant, 'api_key')).length
    const racing = rotateApiKey({ ...operator, table: slow }, { tenant, id: key_id, overlapSeconds: 3600 })
    await expect(racing).rejects.toThrow('not active')
    expect(await keys()).toBe(how === 'rotated' ? 2 : 1)
  })
})
