import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { keyOf } from '#shared/platform/table/keys.ts'
import { idAt } from '#test/support/ids.ts'
import { runs } from '#test/support/runs.ts'
import { uniqueTenant } from '#test/support/unique-tenant.ts'
import { startService } from '../support/service.ts'
import { manualClock } from './manual-clock.ts'

interface Listed {
  id: string
  status: string
  cart_id: string
  created_at: string
}

const start = Date.parse('2026-03-01T00:00:00.000Z')
const statuses = ['active', 'paid', 'cancelled']

const clock = manualClock(start)
const service = await startService({ clock })
const newTenant = () => uniqueTenant('walk')

async function insert(tenant: string, milliseconds: number, status = 'active'): Promise<string> {
  const id = idAt(milliseconds)
  const at = new Date(milliseconds).toISOString()
  const order = {
    id,
    tenant_id: tenant,
    cart_id: `cart-${status}`,
    amount_minor: 1,
    currency: 'EUR',
    status,
    created_at: at,
    updated_at: at,
    version: 1,
  }
  await service.table.put({ item: { ...keyOf(tenant, 'order', id), ...order }, condition: { absent: true } })
  return id
}

async function page(tenant: string, query: Record<string, string>) {
  const answer = await service.call({
    path: `/v1/orders?${new URLSearchParams(query)}`,
    as: { tenant, role: 'Viewer' },
  })
  if (answer.status !== 200) throw new Error(answer.body)
  return answer.json as { data: Listed[]; next_cursor: string | null; prev_cursor: string | null }
}

test('orders that one client creates in one millisecond are listed in their order', async () => {
  const tenant = newTenant()
  const body = { cart_id: 'cart', amount_minor: 1, currency: 'EUR' }
  const made: string[] = []
  for (let n = 0; n < 20; n += 1) {
    const headers = { 'Idempotency-Key': `${tenant}-${n}` }
    const order = await service.call({
      method: 'POST',
      path: '/v1/orders',
      as: { tenant, role: 'Editor' },
      headers,
      body,
    })
    made.push(order.json.id)
  }
  const { data } = await page(tenant, { sort: 'created_at.asc' })
  expect(data.map(({ id }) => id)).toEqual(made)
})

test('two thousand orders, many in one millisecond, are listed completely in both directions while more are created', async () => {
  const tenant = newTenant()
  clock.at = start + 1000
  const before: string[] = []
  for (let batch = 0; batch < 20; batch += 1) {
    before.push(
      ...(await Promise.all(
        Array.from({ length: 100 }, (_, n) => insert(tenant, start + batch * 50 + (n % 3))),
      )),
    )
  }
  for (const direction of ['desc', 'asc']) {
    clock.at += 1000
    const expected = before.toSorted()
    if (direction === 'desc') expected.reverse()
    const seen: string[] = []
    const pages: string[][] = []
    let cursor: string | null = null
    let last: Awaited<ReturnType<typeof page>> | undefined
    do {
      last = await page(tenant, {
        sort: `created_at.${direction}`,
        page_size: '100',
        ...(cursor && { cursor }),
      })
      pages.push(last.data.map(({ id }) => id))
      seen.push(...last.data.map(({ id }) => id))
      cursor = last.next_cursor
      clock.at += 1
      before.push(await insert(tenant, clock.at))
    } while (cursor)
    // Orders created during the previous session are part of this one; those created during this one are not.
    expect(seen).toEqual(expected)
    for (let index = pages.length - 2; index >= 0; index -= 1) {
      last = await page(tenant, {
        sort: `created_at.${direction}`,
        page_size: '100',
        cursor: last.prev_cursor ?? '',
      })
      expect(last.data.map(({ id }) => id)).toEqual(pages[index])
    }
    expect(last.prev_cursor).toBeNull()
  }
})

interface Step {
  move: 'next' | 'prev' | 'insert'
  pageSize: number
  late: boolean
}

describe('any session', () => {
  const steps: fc.Arbitrary<Step[]> = fc.array(
    fc.record({
      move: fc.constantFrom('next' as const, 'next' as const, 'prev' as const, 'insert' as const),
      pageSize: fc.integer({ min: 1, max: 7 }),
      late: fc.boolean(),
    }),
    { maxLength: 14 },
  )
  const walk = fc.record({
    times: fc.array(fc.tuple(fc.integer({ min: 0, max: 6 }), fc.constantFrom(...statuses)), {
      maxLength: 30,
    }),
    filter: fc.constantFrom<Record<string, string>>(
      {},
      { status: 'paid' },
      { 'status.in': 'paid,cancelled' },
      { 'created_at.gte': new Date(start + 2).toISOString() },
      {
        'created_at.gt': new Date(start + 1).toISOString(),
        'created_at.lt': new Date(start + 5).toISOString(),
      },
      { 'created_at.lte': new Date(start + 3).toISOString(), status: 'active' },
      { q: 'PAID' },
    ),
    direction: fc.constantFrom('asc', 'desc'),
    steps,
  })

  test('shows exactly the items that existed at its start, in order, in any direction', async () => {
    await fc.assert(
      fc.asyncProperty(walk, async ({ times, filter, direction, steps: moves }) => {
        const tenant = newTenant()
        clock.at = start + 10
        const stored = await Promise.all(
          times.map(async ([offset, status]) => ({
            id: await insert(tenant, start + offset, status),
            offset,
            status,
          })),
        )
        const expected = stored
          .filter((one) => matches(one, filter))
          .map(({ id }) => id)
          .toSorted((a, b) => (a < b === (direction === 'asc') ? -1 : 1))
        const query = { ...filter, sort: `created_at.${direction},id.${direction}` }

        let current = await page(tenant, { ...query, page_size: '3' })
        let position = 0
        expect(ids(current)).toEqual(expected.slice(0, 3))
        for (const { move, pageSize, late } of moves) {
          if (move === 'insert') {
            // After the first page, in the same millisecond at the earliest.
            clock.at += late ? 5 : 0
            await insert(tenant, clock.at, 'paid')
            continue
          }
          const cursor = move === 'next' ? current.next_cursor : current.prev_cursor
          const atEnd = move === 'next' ? position + ids(current).length >= expected.length : position === 0
          expect(cursor === null).toBe(atEnd)
          if (cursor === null) continue
          const following = await page(tenant, { ...query, page_size: String(pageSize), cursor })
          if (move === 'next') {
            position += ids(current).length
            expect(ids(following)).toEqual(expected.slice(position, position + pageSize))
          } else {
            // Going back shows the previous page, or the requested number of its last items.
            const end = position
            position -= ids(following).length
            expect(ids(following).length).toBeGreaterThan(0)
            expect(ids(following)).toEqual(expected.slice(position, end))
          }
          current = following
        }
      }),
      { ...runs(120) },
    )
  })
})

function ids({ data }: { data: Listed[] }): string[] {
  return data.map(({ id }) => id)
}

/** An independent implementation of the filters, as the oracle. */
function matches(
  { offset, status }: { offset: number; status: string },
  filter: Record<string, string>,
): boolean {
  const at = start + offset
  const bound = (name: string) => (filter[name] === undefined ? undefined : Date.parse(filter[name]))
  const { status: wanted, 'status.in': among, q } = filter
  return (
    (wanted === undefined || status === wanted) &&
    (among === undefined || among.split(',').includes(status)) &&
    (q === undefined || status.includes(q.toLowerCase())) &&
    at >= (bound('created_at.gte') ?? at) &&
    at <= (bound('created_at.lte') ?? at) &&
    at > (bound('created_at.gt') ?? at - 1) &&
    at < (bound('created_at.lt') ?? at + 1)
  )
}
