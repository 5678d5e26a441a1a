import { afterAll, describe, expect, test } from '@jest/globals'
import type { Settings } from '#shared/settings/register.ts'
import { serveHttp } from '#test/support/http-service.ts'
import { startService } from '#test/support/service.ts'
import { localSettings, tokenFor } from '#test/support/settings.ts'
import { commerceClient } from '../../client/commerce-client.ts'
import { inMemoryProvider, payEndpoint } from '../faults/payment-saga.ts'

/** Each setting has an effect: two deployments with different values respond differently to the same call. */

const stops: (() => Promise<void>)[] = []
afterAll(async () => {
  for (const stop of stops) await stop()
})

/** A deployment in which a first request with the key `same` is in progress until it is released. */
async function inProgress(changes: Partial<Settings>) {
  const held = Promise.withResolvers<void>()
  const provider = Object.assign(inMemoryProvider(), { conducts: ['slow'], hold: held.promise })
  const service = await startService({
    settings: { ...localSettings, ...changes },
    extra: [payEndpoint(provider)],
  })
  const as = { role: 'Editor' }
  const call = { method: 'POST', path: '/tests/pay', as, headers: { 'Idempotency-Key': 'same' } }
  const pay = () => service.call({ ...call, body: { amount: 5 } })
  const first = pay()
  while (provider.calls.length === 0) await new Promise((wake) => setImmediate(wake))
  const release = async () => {
    held.resolve()
    return first
  }
  return { service, pay, release, provider }
}

async function secondOf(changes: Partial<Settings>) {
  const { pay, release } = await inProgress(changes)
  const { status, headers, json } = await pay()
  await release()
  return [status, json.error.code, json.error.retryable, headers['Retry-After']]
}

describe('a request while the first one with its key is in progress', () => {
  test('idempotency.whilePending with 503 returns a retryable error', async () => {
    const changes = { 'idempotency.whilePending': { waitSeconds: 0, status: 503 } } as const
    expect(await secondOf(changes)).toEqual([
      503,
      'DEPENDENCY.unavailable',
      true,
      expect.stringMatching(/^[1-5]$/),
    ])
  })

  test('idempotency.whilePending with 409 returns an error that is not retryable', async () => {
    const changes = { 'idempotency.whilePending': { waitSeconds: 0, status: 409 } } as const
    expect(await secondOf(changes)).toEqual([409, 'CONFLICT.idempotency.in_progress', false, undefined])
  })

  test('errors.retryAfterSeconds is the range of the Retry-After of the 503', async () => {
    const waiting = { waitSeconds: 0, status: 503 } as const
    const changes = { 'idempotency.whilePending': waiting, 'errors.retryAfterSeconds': { min: 7, max: 7 } }
    expect((await secondOf(changes))[3]).toBe('7')
  })

  test('is retried by the client with the same key until there is an outcome', async () => {
    const waiting = { waitSeconds: 0, status: 503 } as const
    const { service, release, provider } = await inProgress({ 'idempotency.whilePending': waiting })
    const http = await serveHttp(service)
    stops.push(http.stop)
    const statuses: number[] = []
    const client = commerceClient({
      baseUrl: http.base_url,
      token: () => tokenFor({ role: 'Editor' }, service.settings),
      async fetch(request) {
        const response = await fetch(request)
        statuses.push(response.status)
        if (response.status === 503) await release()
        return response
      },
    })
    const options = { body: { amount: 5 }, params: { header: { 'Idempotency-Key': 'same' } } }
    const { replayed } = await client.POST('/tests/pay' as never, options as never)
    expect([statuses, replayed, provider.payouts.size]).toEqual([[503, 201], true, 1])
  })
})
