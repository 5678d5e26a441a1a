import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { make } from '#bin/commands/api-keys.ts'
import { verify, verifyScopes } from '#bin/commands/verify.ts'
import { systemClock } from '#shared/platform/base/clock.ts'
import { type HttpService, serveHttp } from '#test/support/http-service.ts'
import { type Service, startService } from '#test/support/service.ts'
import { localSettings } from '#test/support/settings.ts'

let service: Service
let http: HttpService
beforeAll(async () => {
  service = await startService()
  http = await serveHttp(service)
})
afterAll(() => http.stop())

const secret = 'whsec_bm90IHRoZSBrZXkgb2YgdGhlIHNlcnZpY2U='

async function passedChecks(tenant: string, into: string[]): Promise<void> {
  const scopes = verifyScopes(localSettings)
  const { key: apiKey } = await make(
    { table: service.table, clock: systemClock, name: 'jane' },
    { tenant, name: 'verify', scopes },
  )
  const target = { baseUrl: http.base_url, apiKey, settings: localSettings, tenant, secret, waitSeconds: 0 }
  await verify(target, (check) => into.push(check))
}

// The end-to-end tests run all checks on the deployed stack.
describe('npx commerce verify', () => {
  test('stops at the first failed check: a webhook signed with another secret', async () => {
    const passed: string[] = []
    await expect(passedChecks('verify-well', passed)).rejects.toThrow(
      /^webhook: expected an accepted event, received 401 /,
    )
    expect(passed).toEqual([
      'health',
      'rejected token',
      'create',
      'replay',
      'mismatch',
      'list',
      'rejected signature',
    ])
  })

  test('names the expected and the received response', async () => {
    const passed: string[] = []
    await service.call({
      method: 'POST',
      path: '/v1/orders',
      as: { tenant: 'verify-used', role: 'Editor' },
      headers: { 'Idempotency-Key': 'earlier' },
      body: { cart_id: 'cart-1', amount_minor: 1, currency: 'EUR' },
    })
    await expect(passedChecks('verify-used', passed)).rejects.toThrow(
      /^list: expected only the created order, received 200 /,
    )
    expect(passed).toEqual(['health', 'rejected token', 'create', 'replay', 'mismatch'])
  })

  test('names an address that cannot be reached', async () => {
    const target = { baseUrl: 'http://127.0.0.1:1', apiKey: '', settings: localSettings, tenant: 't', secret }
    await expect(verify({ ...target, waitSeconds: 0 }, () => {})).rejects.toThrow(
      'http://127.0.0.1:1/health cannot be reached',
    )
  })

  test('needs no scope beyond those of its requests', () => {
    expect(verifyScopes(localSettings)).toEqual([
      'orders:write',
      'orders:read',
      'imports:write',
      'operations:read',
    ])
  })
})
