import { describe, expect, test } from '@jest/globals'
import type { RequestLine } from '#shared/platform/base/log.ts'
import { newEmail, requestCode } from '#test/support/one-time-codes.ts'
import { startService } from '#test/support/service.ts'
import { writtenLog } from '#test/support/written-log.ts'

const service = await startService()
const order = { cart_id: 'cart-1', amount_minor: 100, currency: 'EUR' }

/** Returns the log line of the request that `call` sends. */
async function lineOf(call: () => Promise<unknown>): Promise<RequestLine | undefined> {
  service.lines.length = 0
  await call()
  expect(service.lines).toHaveLength(1)
  return service.lines[0]
}
const place = (tenant: string, role = 'Editor') =>
  service.call({
    method: 'POST',
    path: '/v1/orders',
    as: { tenant, role },
    headers: { 'Idempotency-Key': crypto.randomUUID() },
    body: order,
  })
const reset = (from: string, body: object = { email: `${crypto.randomUUID()}@example.com` }) =>
  service.call({ method: 'POST', path: '/password/reset', from, body })

describe('the log line of a request', () => {
  test('names the tenant of its credential, and no source', async () => {
    expect(await lineOf(() => place('acme'))).toMatchObject({
      tenant: 'acme',
      source: undefined,
      status: 201,
    })
  })

  test('has the units of the table that the request consumed', async () => {
    const { openTable } = service.runtime
    service.runtime.openTable = (budget, criticality, units) => {
      if (units) Object.assign(units, { read: 1.5, write: 5 })
      return openTable(budget, criticality)
    }
    const line = await lineOf(() => place('acme'))
    service.runtime.openTable = openTable
    const [written = ''] = writtenLog((log) => log.request(line as RequestLine))
    expect(JSON.parse(written)).toMatchObject({ tenant: 'acme', read_units: 1.5, write_units: 5 })
  })

  test('names the tenant of a denied request, too', async () => {
    expect(await lineOf(() => place('other', 'Viewer'))).toMatchObject({ tenant: 'other', status: 403 })
  })

  test('names the caller’s tenant if an Admin reads that of another', async () => {
    const call = () => service.call({ path: '/v1/orders?tenant=acme', as: { tenant: 'head', role: 'Admin' } })
    expect(await lineOf(call)).toMatchObject({ tenant: 'head', status: 200 })
  })

  test('names no tenant without a valid credential', async () => {
    const call = () => service.call({ path: '/v1/orders', headers: { Authorization: 'Bearer forged' } })
    expect(await lineOf(call)).toMatchObject({ tenant: undefined, source: undefined, status: 401 })
  })

  test('has the same hash for requests of one source, and another for those of another', async () => {
    const first = await lineOf(() => reset('192.0.2.1'))
    const again = await lineOf(() => reset('192.0.2.1'))
    const other = await lineOf(() => reset('192.0.2.2'))
    expect(first?.source).toMatch(/^[\w-]{43}$/)
    expect([again?.source === first?.source, other?.source === first?.source]).toEqual([true, false])
  })

  test('has the hash of a rejected source, too', async () => {
    const accepted = await lineOf(() => reset('192.0.2.3'))
    const invalid = await lineOf(() => reset('192.0.2.3', { mail: 1 }))
    expect(invalid).toMatchObject({ status: 400, source: accepted?.source })
  })

  test('names the mail that its success sends', async () => {
    let id: unknown
    const line = await lineOf(async () => {
      id = (await requestCode(service, newEmail())).json.message_id
    })
    expect(line).toMatchObject({ status: 202, mail: id })
    const refused = await lineOf(() => requestCode(service, 'no address'))
    expect(refused).toMatchObject({ status: 400, mail: undefined })
  })

  test('holds no address', async () => {
    expect(JSON.stringify(await lineOf(() => reset('192.0.2.4')))).not.toContain('192.0.2')
  })
})

test('tenant and source are members of the written line', async () => {
  const line = await lineOf(() => place('acme'))
  const [written = ''] = writtenLog((log) => log.request({ ...(line as RequestLine), source: 'hash' }))
  expect(JSON.parse(written)).toMatchObject({ message: 'request', tenant: 'acme', source: 'hash' })
})
