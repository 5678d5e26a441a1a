import { describe, expect, test } from '@jest/globals'
import { keyOf } from '#shared/platform/table/keys.ts'
import { type Service, startService } from '#test/support/service.ts'
import { localSettings } from '#test/support/settings.ts'
import { newTable } from '#test/support/tables.ts'

const tableName = await newTable()
/** Starts a process with these numbers for the tenant `large`. All processes share one table. */
const processWith = (writes: number, reads: number): Promise<Service> => {
  const shards = { default: { writes: 1, reads: 1 }, tenants: { large: { writes, reads } } }
  return startService({ tableName, settings: { ...localSettings, 'storage.shards': shards } })
}
const first = await processWith(1, 1)
const reading = await processWith(1, 4)
const writing = await processWith(4, 4)

let keys = 0
async function place(service: Service, tenant = 'large'): Promise<string> {
  const { status, json } = await service.call({
    method: 'POST',
    path: '/v1/orders',
    as: { tenant, role: 'Editor' },
    headers: { 'Idempotency-Key': `k${keys++}` },
    body: { cart_id: 'cart', amount_minor: 1, currency: 'EUR' },
  })
  expect(status).toBe(201)
  return json.id
}

const page = async (service: Service, query: Record<string, string>) => {
  const path = `/v1/orders?${new URLSearchParams({ page_size: '7', ...query })}`
  const { status, json } = await service.call({ path, as: { tenant: 'large', role: 'Viewer' } })
  expect(status).toBe(200)
  return json as { data: { id: string }[]; next_cursor: string | null; prev_cursor: string | null }
}

const partitionsOf = (ids: string[], tenant = 'large') =>
  [...new Set(ids.map((id) => keyOf(tenant, 'order', id).pk))].sort()

test('a tenant gets more shards in two releases, and a pagination session goes on through all three', async () => {
  const made: string[] = []
  for (let n = 0; n < 20; n += 1) made.push(await place(first))
  const pages = [await page(first, {})]
  for (let n = 0; n < 20; n += 1) await place(reading)
  pages.push(await page(reading, { cursor: pages[0]?.next_cursor ?? '' }))
  const spread: string[] = []
  // Each order is in one of the four at random.
  while (partitionsOf(spread).length < 4) spread.push(await place(writing))
  expect(partitionsOf(spread)).toEqual([0, 1, 2, 3].map((shard) => `order#large#${shard}`))
  pages.push(await page(writing, { cursor: pages[1]?.next_cursor ?? '' }))
  expect(pages.flatMap(({ data }) => data.map(({ id }) => id))).toEqual(made.toReversed())
  expect(pages[2]?.next_cursor).toBe(null)
  // A release that reads all shards may store new items in fewer: a rollback loses nothing.
  const back = await page(reading, { cursor: pages[2]?.prev_cursor ?? '' })
  expect(back.data).toEqual(pages[1]?.data)
})

test('a process of any release reads an order of any shard', async () => {
  const ids = [await place(writing), await place(writing), await place(writing)]
  for (const id of ids)
    for (const service of [first, reading, writing]) {
      const { status } = await service.call({
        path: `/v1/orders/${id}`,
        as: { tenant: 'large', role: 'Viewer' },
      })
      expect(status).toBe(200)
    }
})

describe('a tenant that the setting does not name', () => {
  test('has the default number', async () => {
    const ids = [await place(writing, 'small'), await place(writing, 'small')]
    expect(partitionsOf(ids, 'small')).toEqual(['order#small#0'])
  })
})

describe('what a request stores besides its item', () => {
  test('is in the shards of its tenant: codes and audit records', async () => {
    const as = { tenant: 'large', role: 'Editor', scope: 'codes:read codes:write' }
    const partitions = async (entity: 'code' | 'audit') =>
      new Set((await writing.items('large', entity)).map(({ pk }) => pk)).size
    let made = 0
    for (; (await partitions('code')) < 2 || (await partitions('audit')) < 2; made += 1) {
      const body = {
        code: `CODE-${made}`,
        type: 'percent-10',
        name: 'Ten',
        expiry_at: '2030-01-01T00:00:00Z',
      }
      const headers = { 'Idempotency-Key': `code-${made}` }
      const { status, json } = await writing.call({ method: 'POST', path: '/codes', as, headers, body })
      expect(status).toBe(201)
      await writing.call({
        method: 'POST',
        path: `/codes/${json.id}:share`,
        as,
        headers,
        body: { grantee_tenant: 'large' },
      })
    }
    const codes = await writing.items('large', 'code')
    expect(codes.map(({ sk }) => sk)).toEqual(codes.map(({ id }) => id))
    const exported = await writing.call({ path: '/codes:export', as })
    expect(exported.body?.split('\r\n').filter((line) => line.includes('CODE-'))).toHaveLength(made)
  })
})
