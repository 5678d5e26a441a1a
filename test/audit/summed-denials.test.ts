import { beforeEach, describe, expect, test } from '@jest/globals'
import { newId, systemClock } from '#shared/platform/base/clock.ts'
import type { Item } from '#shared/platform/table/keys.ts'
import { type Call, type Service, startService } from '#test/support/service.ts'

let now: number
let service: Service
beforeEach(async () => {
  now = Date.parse('2026-03-01T12:00:00Z')
  service = await startService({ clock: { ...systemClock, now: () => now } })
})

const viewer = { tenant: 'acme', role: 'Viewer', sub: 'u1' }
const read = (as: Call['as'] = viewer) => service.call({ path: `/v1/orders/${newId(systemClock)}`, as })
/** Returns the audit records of a tenant, those of one denial first. */
async function recordsOf(tenant: string): Promise<{ single: Item[]; summed: Item[] }> {
  const all = await service.items(tenant, 'audit')
  const [single, summed] = [
    all.filter(({ count }) => count === undefined),
    all.filter(({ count }) => count !== undefined),
  ]
  return { single, summed }
}

describe('denied reads of one principal', () => {
  test('get a record each, up to ten in a minute', async () => {
    for (let n = 0; n < 10; n += 1) await read()
    const { single, summed } = await recordsOf('acme')
    expect([single.length, summed]).toEqual([10, []])
  })

  test('beyond ten share one record, which counts them', async () => {
    for (let n = 0; n < 40; n += 1) await read()
    const { single, summed } = await recordsOf('acme')
    expect(single).toHaveLength(10)
    expect(summed).toMatchObject([
      { action: 'orders.read', target: 'orders', result: 'deny', actor_id: 'u1', role: 'Viewer', count: 30 },
    ])
  })

  test('that are concurrent are all counted', async () => {
    await Promise.all(Array.from({ length: 40 }, () => read()))
    const { single, summed } = await recordsOf('acme')
    expect(single.length + summed.reduce((sum, { count }) => sum + Number(count), 0)).toBe(40)
    expect(summed).toHaveLength(1)
  })

  test('get records again a minute later, and another one that counts', async () => {
    for (let n = 0; n < 12; n += 1) await read()
    now += 60_000
    for (let n = 0; n < 13; n += 1) await read()
    const { single, summed } = await recordsOf('acme')
    expect(single).toHaveLength(20)
    expect(summed.map(({ count }) => count)).toEqual([2, 3])
  })

  test('are counted apart from those of another principal', async () => {
    for (let n = 0; n < 11; n += 1) await read()
    await read({ ...viewer, sub: 'u2' })
    expect((await recordsOf('acme')).single.map(({ actor_id }) => actor_id)).toContain('u2')
  })

  test('are counted apart from those of another operation', async () => {
    for (let n = 0; n < 11; n += 1) await read()
    await service.call({ path: `/codes/${newId(systemClock)}`, as: { ...viewer, scope: 'codes:read' } })
    expect((await recordsOf('acme')).single.map(({ action }) => action)).toContain('codes.read')
  })
})

test.each<[string, Call]>([
  ['an export', { path: '/codes:export?tenant=acme' }],
  ['a restore', { method: 'POST', path: '/codes/x:restore', headers: { 'Idempotency-Key': 'k' } }],
  ['an update', { method: 'PATCH', path: '/codes/x', headers: { 'If-Match': '"a"' }, body: { name: 'n' } }],
])('denials of %s, a sensitive action, get a record each', async (_, call) => {
  const as = { ...viewer, scope: 'codes:read codes:write' }
  for (let n = 0; n < 15; n += 1) await service.call({ ...call, as })
  const { single, summed } = await recordsOf('acme')
  expect([single.length, summed]).toEqual([15, []])
})
