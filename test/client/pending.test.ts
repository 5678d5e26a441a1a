import { afterAll, expect, test } from '@jest/globals'
import { serveHttp } from '#test/support/http-service.ts'
import { localSettings, tokenFor } from '#test/support/settings.ts'
import { commerceClient } from '../../client/commerce-client.ts'
import { startPending } from '../faults/payment-saga.ts'
import { patient } from './patient.ts'

const { service, release, provider } = await startPending({
  ...localSettings,
  'idempotency.whilePending': { waitSeconds: 0, status: 503 },
})
const http = await serveHttp(service)
afterAll(() => http.stop())

test('the client repeats a request whose key is in progress until there is an outcome', async () => {
  const statuses: number[] = []
  const client = commerceClient({
    baseUrl: http.base_url,
    token: () => tokenFor({ role: 'Editor' }),
    ...patient,
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
