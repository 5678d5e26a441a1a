import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type HttpService, serveHttp } from '#test/support/http-service.ts'
import { type Service, startService } from '#test/support/service.ts'
import { type Identity, tokenFor } from '#test/support/settings.ts'
import { type CommerceClient, CommerceError, commerceClient } from '../../client/commerce-client.ts'
import { patient } from './patient.ts'

const order = { cart_id: 'cart-1', amount_minor: 1999, currency: 'EUR' }
const code = {
  code: 'summer-10',
  type: 'percent-10' as const,
  name: 'Summer',
  expiry_at: '2099-01-01T00:00:00Z',
}

let service: Service
let http: HttpService
beforeAll(async () => {
  service = await startService()
  http = await serveHttp(service)
})
afterAll(() => http?.stop())

/** Returns a client of the real endpoints for an identity. */
function clientOf(identity: Identity, changed: Partial<Parameters<typeof commerceClient>[0]> = {}) {
  const scope = 'codes:read codes:write'
  return commerceClient({
    baseUrl: http.base_url,
    token: () => tokenFor({ scope, ...identity }, service.settings),
    ...patient,
    ...changed,
  })
}

/** Returns the error of a rejected call. */
async function refusalOf(call: Promise<unknown>): Promise<CommerceError> {
  const thrown = await call.then(
    () => undefined,
    (error) => error,
  )
  if (!(thrown instanceof CommerceError)) throw new Error('the call was not refused', { cause: thrown })
  return thrown
}

describe('orders', () => {
  test('are created once for each key; replays and payload mismatches are reported', async () => {
    const client = clientOf({ tenant: 'once' })
    const header = { 'Idempotency-Key': 'mine' }
    const first = await client.POST('/v1/orders', { body: order, params: { header } })
    expect(first).toMatchObject({ status: 201, replayed: false, idempotency_key: 'mine' })
    const again = await client.POST('/v1/orders', { body: order, params: { header } })
    expect([again.replayed, again.data]).toEqual([true, first.data])
    const refused = await refusalOf(
      client.POST('/v1/orders', { body: { ...order, amount_minor: 1 }, params: { header } }),
    )
    expect(refused).toMatchObject({
      code: 'CONFLICT.idempotency.payload_mismatch',
      message_id: 'error.conflict.idempotency.payload_mismatch',
      http: 409,
      retryable: false,
      details: {},
      idempotency_key: 'mine',
    })
    expect(refused.correlation_id).toBe(refused.response.headers.get('x-correlation-id'))
    expect(await service.items('once', 'order')).toHaveLength(1)
  })

  test('are created once if the response is lost', async () => {
    let answers = 0
    const client = clientOf(
      { tenant: 'lost' },
      {
        random: () => 0,
        async fetch(request) {
          const answer = await fetch(request)
          answers += 1
          if (answers > 1) return answer
          await answer.arrayBuffer()
          throw new TypeError('fetch failed', { cause: Object.assign(new Error(), { code: 'ECONNRESET' }) })
        },
      },
    )
    const { replayed, data } = await client.POST('/v1/orders', { body: order })
    expect([answers, replayed]).toEqual([2, true])
    expect((await service.items('lost', 'order')).map(({ id }) => id)).toEqual([data.id])
  })

  test('are read with their entity tag, and not again while they are unchanged', async () => {
    const client = clientOf({ tenant: 'read' })
    const { data } = await client.POST('/v1/orders', { body: order })
    const path = { id: data.id }
    const read = await client.GET('/v1/orders/{id}', { params: { path } })
    expect(read.data).toEqual(data)
    const header = { 'If-None-Match': read.etag ?? '' }
    const unchanged = await client.GET('/v1/orders/{id}', { params: { path, header } })
    expect([unchanged.status, unchanged.data, unchanged.etag]).toEqual([304, undefined, read.etag])
  })

  test('are listed without duplicates or gaps while others are created', async () => {
    const client = clientOf({ tenant: 'walk' })
    const place = () => client.POST('/v1/orders', { body: order })
    const placed = await Promise.all(Array.from({ length: 23 }, place))
    const seen: string[] = []
    for await (const { id, currency } of client.orders({ page_size: 4, 'status.in': ['active', 'paid'] })) {
      expect(currency).toBe('EUR')
      seen.push(id)
      if (seen.length % 3 === 0) await place()
    }
    expect(seen.toSorted()).toEqual(placed.map(({ data }) => data.id).toSorted())
    const sizes: number[] = []
    for await (const page of client.pages('/v1/orders', { page_size: 10 })) sizes.push(page.data.length)
    expect(sizes).toEqual([10, 10, 10])
  })
})

describe('discount codes', () => {
  test('are updated with the current tag only, and deleted', async () => {
    const client = clientOf({ tenant: 'coded' })
    const made = await client.POST('/codes', { body: code })
    const path = { id: made.data.id }
    const change = (name: string, etag = '') =>
      client.PATCH('/codes/{id}', { params: { path, header: { 'If-Match': etag } }, body: { name } })
    const { etag } = await client.GET('/codes/{id}', { params: { path } })
    const changed = await change('New', etag)
    expect(changed.data.name).toBe('New')
    expect(await refusalOf(change('Lost', etag))).toMatchObject({
      code: 'CONFLICT.etag.mismatch',
      http: 412,
    })
    expect((await change('Newer', changed.etag)).data.name).toBe('Newer')
    const deleted = await client.DELETE('/codes/{id}', { params: { path } })
    expect([deleted.status, deleted.data]).toEqual([204, undefined])
    expect((await client.GET('/codes')).data.data).toEqual([])
  })

  test('are imported and exported as CSV', async () => {
    const client = clientOf({ tenant: 'csv' })
    const body = 'code,type,name,expiry_at\r\nAUTUMN,fixed-500,Autumn,2099-01-01T00:00:00Z\r\n'
    const imported = await client.POST('/codes:import', { body })
    expect(imported.data.counts).toEqual({ total: 1, succeeded: 1, failed: 0 })
    const exported = await client.GET('/codes:export')
    const csv: string = exported.data
    expect(csv).toContain('AUTUMN,fixed-500,Autumn')
    const { data } = await client.GET('/codes:export', { parseAs: 'stream' })
    expect(await new Response(data).text()).toBe(csv)
  })

  test('are listed page by page after an offset', async () => {
    const client = clientOf({ tenant: 'skipping' })
    for (const name of ['A', 'B', 'C', 'D', 'E'])
      await client.POST('/codes', { body: { ...code, code: name } })
    const pages: string[][] = []
    for await (const { data } of client.pages('/codes', { sort: 'code.asc,id.asc', offset: 1, limit: 2 }))
      pages.push(data.map((one) => one.code))
    expect(pages).toEqual([
      ['B', 'C'],
      ['D', 'E'],
    ])
  })

  test('name the invalid field', async () => {
    const refused = await refusalOf(
      clientOf({ tenant: 'wrong' }).POST('/codes', { body: { ...code, code: '!' } }),
    )
    expect(refused).toMatchObject({ code: 'VALIDATION.code.charset', http: 400 })
    expect(refused.details.fields).toHaveProperty('code.reason')
  })
})

test('the client rejects at compile time whatever openapi.json does not define', () => {
  const wrong = (client: CommerceClient) => [
    // @ts-expect-error no such path
    client.GET('/v1/nothing'),
    // @ts-expect-error a webhook has a signature instead of a token
    client.POST('/v1/webhooks/events', { body: '' }),
    // @ts-expect-error a body is required
    client.POST('/v1/orders'),
    // @ts-expect-error an amount is a number
    client.POST('/v1/orders', { body: { ...order, amount_minor: '1' } }),
    // @ts-expect-error an update needs If-Match
    client.PATCH('/codes/{id}', { params: { path: { id: '1' } }, body: { name: 'New' } }),
    // @ts-expect-error no such status
    client.orders({ status: 'odd' }),
    // @ts-expect-error not a list
    client.items('/health'),
  ]
  expect(wrong).toBeInstanceOf(Function)
})

/** Webhooks are signed and not part of this client. Login ignores keys, because it stores no tokens to replay. */
const withoutKey = ['/v1/webhooks/events', '/v1/webhooks/stripe', '/login']

test('every operation for which the client sends a key accepts one, except login, which ignores it', async () => {
  const description = await readFile(join(import.meta.dirname, '../../openapi.json'), 'utf8')
  const { paths, components } = JSON.parse(description)
  const nameOf = ({ name, $ref }: { name?: string; $ref?: string }) =>
    name ?? components.parameters[$ref?.split('/').at(-1) ?? '']?.name
  for (const [path, operations] of Object.entries<Record<string, { parameters: object[] }>>(paths))
    for (const [method, { parameters }] of Object.entries(operations))
      if (method !== 'get' && !withoutKey.includes(path))
        expect([path, parameters.map(nameOf)]).toEqual([path, expect.arrayContaining(['Idempotency-Key'])])
})

test('a stand-in for fetch may leave out the Content-Type of JSON', async () => {
  const fetch = async () => new Response('{"status":"pass"}')
  const { data } = await commerceClient({ baseUrl: 'http://stand-in', fetch }).GET('/health')
  expect(data).toEqual({ status: 'pass' })
})
