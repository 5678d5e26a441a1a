import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { make } from '#bin/api-keys.ts'
import { verify } from '#bin/verify.ts'
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

async function passedChecks(tenant: string, scopes: string[], into: string[]): Promise<void> {
  const { key: apiKey } = await make(service.table, systemClock, { tenant, name: 'verify', scopes })
  await verify({ baseUrl: http.base_url, apiKey, settings: localSettings }, (check) => into.push(check))
}

describe('npx commerce verify', () => {
  test('passes all its checks against a service that works', async () => {
    const passed: string[] = []
    await passedChecks('verify-well', ['orders:read', 'orders:write'], passed)
    expect(passed).toEqual(['health', 'rejected token', 'create', 'replay', 'mismatch', 'list'])
  })

  test('stops at the first check that fails and says what it received', async () => {
    const passed: string[] = []
    await service.call({
      method: 'POST',
      path: '/v1/orders',
      as: { tenant: 'verify-used', role: 'Editor' },
      headers: { 'Idempotency-Key': 'earlier' },
      body: { cart_id: 'cart-1', amount_minor: 1, currency: 'EUR' },
    })
    await expect(passedChecks('verify-used', ['orders:read', 'orders:write'], passed)).rejects.toThrow(
      /^list: expected only the created order, received 200 /,
    )
    expect(passed).toEqual(['health', 'rejected token', 'create', 'replay', 'mismatch'])
  })
})
