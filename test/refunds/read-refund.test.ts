import { afterAll, describe, expect, test } from '@jest/globals'
import { handleEvent } from '#shared/webhooks/handle-event.ts'
import { outcome } from '#test/support/outcome.ts'
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
  await handleEvent(event.event_id, { ...service.runtime, table: service.table })
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

  test('has the same Location in a replay', async () => {
    const first = await refund('again', 'ch_again', 'again')
    const replay = await refund('again', 'ch_again', 'again')
    expect(replay.headers['Idempotency-Status']).toBe('replayed')
    expect(replay.headers.Location).toBe(first.headers.Location)
  })

  test('is not sent again while its entity tag is current', async () => {
    const { headers } = await refund('tagged', 'ch_tagged')
    const path = String(headers.Location)
    const as = { tenant: 'tagged', role: 'Viewer' }
    const { ETag: tag = '' } = (await read(path, as)).headers
    expect(tag).toMatch(/^"/)
    const unchanged = await read(path, as, { 'If-None-Match': tag })
    expect([unchanged.status, unchanged.body, unchanged.headers.ETag]).toEqual([304, undefined, tag])
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

  test('of another tenant is as absent as one that does not exist, and both are audited', async () => {
    const { json } = await refund('owner', 'ch_foreign')
    const as = { tenant: 'stranger', role: 'Editor', sub: 'snoop' }
    const headers = { 'X-Correlation-Id': 'same' }
    const absentId = json.id.replace(/.{4}$/, json.id.endsWith('0000') ? '1111' : '0000')
    const foreign = await read(`/v1/refunds/${json.id}`, as, headers)
    const absent = await read(`/v1/refunds/${absentId}`, as, headers)
    expect(foreign).toEqual(absent)
    expect(outcome(foreign)).toBe('404 NOT_FOUND.refund')
    const audit = await service.items('stranger', 'audit')
    expect(audit.map(({ action, reason, result, target }) => [action, reason, result, target])).toEqual([
      ['refunds.read', 'AUTHZ.scope.tenant', 'deny', 'refund'],
      ['refunds.read', 'NOT_FOUND.refund', 'deny', 'refund'],
    ])
    expect(JSON.stringify(audit)).not.toContain(json.id)
    expect(JSON.stringify(audit)).not.toContain('owner')
  })

  test('of another tenant is forbidden where the deployment says so', async () => {
    const { headers } = await refund('guarded', 'ch_guarded')
    const open = { ...settings, 'auth.crossTenantStatus': 403 as const }
    const strict = await startService({ settings: open, tableName: service.tableName })
    const foreign = await read(String(headers.Location), { tenant: 'intruder', role: 'Editor' }, {}, strict)
    expect(outcome(foreign)).toBe('403 AUTHZ.scope.tenant')
  })

  test.each(['', '?tenant=far'])('of any tenant is returned to an Admin (query %j)', async (query) => {
    const { json, headers } = await refund('far', 'ch_far')
    const found = await read(`${headers.Location}${query}`, { tenant: 'head', role: 'Admin' })
    expect([found.status, found.json]).toEqual([200, json])
  })

  test.each(['nonsense', '%2e%2e', '00000000-0000-4000-8000-000000000000', 'refund#acme'])(
    'with an id that cannot exist (%s) is absent',
    async (id) => {
      const absent = await read(`/v1/refunds/${encodeURIComponent(id)}`, { role: 'Viewer' })
      expect(outcome(absent)).toBe('404 NOT_FOUND.refund')
    },
  )
})
