import { afterAll, describe, expect, test } from '@jest/globals'
import { handleEvent } from '#shared/webhooks/handle-event.ts'
import { declaredTable } from '#test/support/declared-table.ts'
import { startPaymentProvider } from '#test/support/payment-provider/payment-provider.ts'
import { type Service, startService } from '#test/support/service.ts'
import { profile } from '#test/support/settings.ts'
import { eventOf, signed } from '#test/support/signed-events.ts'

const provider = await startPaymentProvider()
afterAll(() => provider.stop())
const settings = profile('shared/settings/profiles/local.json', {
  'refunds.provider': { endpoint: provider.endpoint, attemptMilliseconds: 5000 },
})
const service = await startService({ settings })

let keys = 0
const refund = (tenant: string, charge_id: string, key = `k${keys++}`) =>
  service.call({
    method: 'POST',
    path: '/v1/refunds',
    as: { tenant, role: 'Editor' },
    headers: { 'Idempotency-Key': key },
    body: { charge_id, amount: 700 },
  })
const read = (path: string, as: object, headers: Record<string, string> = {}, from: Service = service) =>
  from.call({ path, as, headers })

async function reportPaid(tenant: string, id: string) {
  const event = eventOf('refund.succeeded', { id, tenant_id: tenant })
  const body = JSON.stringify(event)
  await service.call({ method: 'POST', path: '/v1/webhooks/events', headers: signed(body), body })
  await handleEvent(event.event_id, {
    ...service.runtime,
    table: declaredTable('webhooks.handle', service.table),
  })
}

describe('a refund', () => {
  test('is read at the Location of its 201', async () => {
    const { json, headers } = await refund('located', 'ch_located')
    expect(headers.Location).toBe(`/v1/refunds/${json.id}`)
    const { status, json: refunded } = await read(String(headers.Location), {
      tenant: 'located',
      role: 'Viewer',
    })
    expect([status, refunded]).toEqual([200, json])
  })

  test('has its Location if an event settles it before its request ends', async () => {
    const work = Promise.withResolvers<void>()
    provider.faults = () => ({ until: work.promise })
    const { length: before } = provider.calls
    const request = refund('overtaken', 'ch_overtaken')
    while (provider.calls.length === before) await new Promise((resolve) => setTimeout(resolve, 2))
    const [{ id } = { id: '' }] = await service.items('overtaken', 'refund')
    await reportPaid('overtaken', String(id))
    work.resolve()
    const { status, headers } = await request
    provider.faults = () => undefined
    expect([status, headers.Location]).toEqual([201, `/v1/refunds/${id}`])
  })

  test('has another entity tag once its status has changed', async () => {
    const { json, headers } = await refund('polled', 'ch_pending_polled')
    const path = String(headers.Location)
    const as = { tenant: 'polled', role: 'Editor' }
    const pending = await read(path, as)
    expect(pending.json.status).toBe('pending')
    await reportPaid('polled', json.id)
    const settled = await read(path, as, { 'If-None-Match': pending.headers.ETag ?? '' })
    expect([settled.status, settled.json]).toEqual([200, { ...json, status: 'succeeded' }])
  })
})
