import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type AttributeValue, BatchWriteItemCommand } from '@aws-sdk/client-dynamodb'
import { unmarshall } from '@aws-sdk/util-dynamodb'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { relay } from '#shared/platform/events/relay.ts'
import { finishSagas } from '#shared/platform/request/finish-sagas.ts'
import type { Item } from '#shared/platform/table/keys.ts'
import { handleEvent } from '#shared/webhooks/handle-event.ts'
import { restMilliseconds, settingsAt, swept } from '#test/faults/refund-service.ts'
import { type ImportService, startImports } from '#test/imports/import-service.ts'
import { testClient } from '#test/support/dynamodb-client.ts'
import { startPaymentProvider } from '#test/support/payment-provider/payment-provider.ts'
import type { Call } from '#test/support/service.ts'
import { signed } from '#test/support/signed-events.ts'
import { createTable } from '#test/support/tables.ts'
import { inMemoryProvider, movableClock, payEndpoint } from '../faults/payment-saga.ts'

/**
 * Every kind of item as release 0.1.0 wrote it, with the requests and responses that wrote them. The file never changes:
 * it is the data of a running deployment, which later code must read.
 */
const stored = JSON.parse(readFileSync(join(import.meta.dirname, 'release-0.1.0.json'), 'utf8'))
const { known } = stored

interface StoredRequest {
  name: string
  request: Call
  answer: { status: number; headers: Record<string, string>; body?: string }
}
const requests: StoredRequest[] = stored.requests
const requestOf = (name: string) => requests.find((one) => one.name === name) as StoredRequest

const editor = { tenant: 'acme', role: 'Editor', sub: 'u1', scope: 'codes:read codes:write' }
let service: ImportService
const now = Date.parse(stored.written_until)

const provider = await startPaymentProvider()
const clock = movableClock(now)
beforeAll(async () => {
  const client = testClient()
  const tableName = await createTable(client)
  const items: Record<string, AttributeValue>[] = stored.items.map(binaryOf)
  for (let from = 0; from < items.length; from += 25) {
    const requested = items.slice(from, from + 25).map((Item) => ({ PutRequest: { Item } }))
    await client.send(new BatchWriteItemCommand({ RequestItems: { [tableName]: requested } }))
  }
  client.destroy()
  const extra = [payEndpoint(inMemoryProvider())]
  service = await startImports({ clock, settings: settingsAt(provider.endpoint), tableName, extra })
  for (const [key, { text, mediaType }] of Object.entries<{ text: string; mediaType: string }>(known.files)) {
    service.files.set(key, { bytes: Buffer.from(text), mediaType })
  }
})
afterAll(() => provider.stop())

/** JSON holds binary attributes as {"base64": …}. */
// biome-ignore lint/suspicious/noExplicitAny: attribute values nest
function binaryOf(value: any): any {
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(binaryOf)
  if (typeof value.base64 === 'string') return Buffer.from(value.base64, 'base64')
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, binaryOf(member)]))
}

describe('idempotency records of 0.1.0', () => {
  const finished = requests.filter(({ answer }) => answer.headers['Idempotency-Status'] === 'stored')
  test.each(finished.map((one) => [one.name, one] as const))(
    '%s is replayed with the same bytes',
    async (_, { request, answer }) => {
      const replayed = await service.call(request)
      expect({
        status: replayed.status,
        body: replayed.body,
        as: replayed.headers['Idempotency-Status'],
      }).toEqual({
        status: answer.status,
        body: answer.body,
        as: 'replayed',
      })
    },
  )

  test('a reused key with another payload is rejected', async () => {
    const { request } = requestOf('order')
    const body = { ...(request.body as object), amount_minor: 1 }
    const { json } = await service.call({ ...request, body })
    expect(json.error.code).toBe('CONFLICT.idempotency.payload_mismatch')
  })
})

describe('pending work of 0.1.0', () => {
  test('a refund resumes when its request is repeated, and is paid once', async () => {
    const { request } = requestOf('pending refund')
    const resumed = await service.call(request)
    expect(resumed.status).toBe(201)
    expect(provider.refunds().filter(({ charge }) => charge === 'ch_2')).toHaveLength(1)
  })

  test('a refund that is never repeated is finished by the sweeper, and is paid once', async () => {
    clock.advance(restMilliseconds)
    const { finished, left } = await finishSagas(swept, service.runtime)
    expect({ finished, left }).toEqual({ finished: 1, left: 0 })
    expect(provider.refunds().filter(({ charge }) => charge === 'ch_3')).toHaveLength(1)
  })

  test('a bulk update resumes after the committed rows', async () => {
    const { request } = requestOf('interrupted bulk update')
    const resumed = await service.call(request)
    expect(resumed.json.counts).toEqual({ total: 5, succeeded: 5, failed: 0 })
    const codes = await service.items('acme', 'code')
    const updated = codes.filter(({ sk }) => known.batch_ids.includes(sk))
    expect(updated.map(({ version }) => version)).toEqual([2, 2, 2, 2, 2])
  })

  test('an accepted import is executed', async () => {
    const { operation_id } = known.imports.pending
    await service.run('acme', operation_id)
    const { json } = await service.read('acme', operation_id)
    expect(json).toMatchObject({ state: 'succeeded', result: { outcome: 'SUCCESS' } })
  })
})

describe('entities of 0.1.0', () => {
  test('a paid order is returned with its entity tag', async () => {
    const read = await service.call({ path: `/v1/orders/${known.order_id}`, as: editor })
    expect(read.json).toMatchObject({ id: known.order_id, status: 'paid' })
    expect(read.headers.ETag).toMatch(/^"/)
  })

  test('codes are listed without the deleted one', async () => {
    const { json } = await service.call({ path: '/codes?page_size=100', as: editor })
    expect(json.data).toHaveLength(46)
  })

  test('a code is found by its text', async () => {
    const { json } = await service.call({ path: '/codes?code=SUMMER-10', as: editor })
    expect(json.data.map(({ name }: { name: string }) => name)).toEqual(['Winter'])
  })

  test('a deleted code is restored to its previous state', async () => {
    const restored = await service.call({
      method: 'POST',
      path: `/codes/${known.code_ids['DELETED-1']}:restore`,
      as: editor,
      headers: { 'Idempotency-Key': 'restore' },
    })
    expect(restored.json).toMatchObject({ state: 'active', soft_deleted: false })
  })

  test('the text of a code is still taken', async () => {
    const again = await service.call({
      method: 'POST',
      path: '/codes',
      as: editor,
      headers: { 'Idempotency-Key': 'again' },
      body: { code: 'GIFT-1', type: 'fixed-500', name: 'Again', expiry_at: '2099-01-01T00:00:00Z' },
    })
    expect(again.json.error.code).toBe('CONFLICT.code.exists')
  })

  test('a code applies to a cart with its gift card and discount', async () => {
    const applied = await service.call({
      method: 'POST',
      path: '/discount/verify',
      as: editor,
      headers: { 'Idempotency-Key': 'later', 'X-Cart-Id': 'cart-1' },
      body: { code: 'GIFT-1' },
    })
    expect(applied.json).toEqual({ applied: true, amount: 500 })
  })

  test('a finished operation is returned with its result', async () => {
    const { json } = await service.read('acme', known.imports.finished.operation_id)
    expect(json).toMatchObject({ state: 'succeeded', progress: 1, result: { outcome: 'PARTIAL' } })
  })

  test('an imported file is not imported again', async () => {
    const again = await service.upload('acme', 'email,name\njane@example.com,Jane\nnot an address,X\n')
    expect(again.headers['Idempotency-Status']).toBe('replayed')
    expect(again.json.operation_id).toBe(known.imports.finished.operation_id)
  })
})

describe('credentials of 0.1.0', () => {
  test('an API key authenticates', async () => {
    const answer = await service.call({ path: '/codes', headers: { 'X-Api-Key': known.api_key } })
    expect(answer.status).toBe(200)
  })

  test('a session authenticates', async () => {
    const answer = await service.call({
      method: 'POST',
      path: '/discount/verify',
      headers: { ...known.session.headers, 'Idempotency-Key': 'k' },
      body: { code: 'NOBODY' },
    })
    expect(answer.status).toBe(200)
  })

  test('a sent one-time code is still right', async () => {
    const { email, code } = known.open
    const answer = await service.call({ method: 'POST', path: '/otp/verify', body: { email, code } })
    expect(answer.status).toBe(200)
  })
})

describe('events of 0.1.0', () => {
  const received = Object.entries<{ event_id: string }>(known.events).filter(
    ([type]) => !type.startsWith('refund'),
  )
  test.each(received)('%s is not handled twice', async (_, event) => {
    const body = JSON.stringify(event)
    const headers = signed(body, { at: new Date(clock.now()) })
    const answer = await service.call({ method: 'POST', path: '/v1/webhooks/events', headers, body })
    expect(answer.status).toBe(202)
    const { table, settings } = service
    expect(await handleEvent(event.event_id, { table, clock, settings })).toBe('known')
  })

  test('the events of items are published', async () => {
    const items: Item[] = stored.items.map((item: object) => unmarshall(binaryOf(item)) as Item)
    const published: string[] = []
    const changes = items.map((after, index) => ({ sequenceNumber: `${index}`, before: undefined, after }))
    const { failedFrom } = await relay(changes, async (events) => {
      published.push(...events.map(({ type }) => type))
      return events.map(() => false)
    })
    expect(failedFrom).toBeUndefined()
    expect(new Set(published)).toEqual(
      new Set([
        'login.fail',
        'order.paid',
        'otp.delivered',
        'otp.requested',
        'otp.verified',
        'promo.applied',
        'promo.rejected',
        'refund.succeeded',
      ]),
    )
  })
})
