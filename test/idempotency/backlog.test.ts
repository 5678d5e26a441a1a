import { beforeEach, describe, expect, test } from '@jest/globals'
import { processMemory, type Remember } from '#shared/platform/base/cached-load.ts'
import { maxPendingSagas, recordBacklogs, refuseBacklogged } from '#shared/platform/idempotency/backlog.ts'
import type { Item } from '#shared/platform/table/keys.ts'
import { type MemoryRuntime, memoryRuntime } from '#test/support/memory-runtime.ts'

let runtime: MemoryRuntime
let calls: string[]
let remember: Remember
beforeEach(() => {
  runtime = memoryRuntime()
  calls = []
  remember = processMemory(runtime.clock)
  runtime.beforeCall = ({ name }) => calls.push(name)
})

const record = (counts: Record<string, number>) =>
  recordBacklogs(new Map(Object.entries(counts)), runtime.table)
const check = (tenant: string) => refuseBacklogged(tenant, { table: runtime.table, remember })
const full = maxPendingSagas

describe('a tenant with too many pending sagas', () => {
  test('starts no other for a time', async () => {
    await record({ acme: full, other: full - 1 })
    await expect(check('acme')).rejects.toMatchObject({
      code: 'RATE_LIMIT.exceeded',
      headers: { 'Retry-After': '60' },
      details: { reason: 'requests_pending', max: full },
    })
    await expect(check('other')).resolves.toBeUndefined()
  })

  test('starts others 30 seconds after it has fewer', async () => {
    await record({ acme: full })
    await expect(check('acme')).rejects.toThrow()
    await record({ acme: full - 1 })
    runtime.clock.advance(29_999)
    await expect(check('acme')).rejects.toThrow()
    runtime.clock.advance(1)
    await expect(check('acme')).resolves.toBeUndefined()
  })

  test('is read once in 30 seconds by a process', async () => {
    for (let n = 0; n < 100; n += 1) await check(`t${n}`)
    expect(calls).toEqual(['get'])
  })
})

describe('the list of these tenants', () => {
  test('is written only if it changes', async () => {
    await record({ acme: 1 })
    expect(calls).toEqual(['get'])
    await record({ acme: full })
    await record({ acme: full + 1 })
    expect(calls.filter((name) => name === 'put')).toHaveLength(1)
    await record({})
    expect(calls.filter((name) => name === 'put')).toHaveLength(2)
  })

  test('fits into an item, with those that have the most', async () => {
    const counts = Object.fromEntries(
      Array.from({ length: 7000 }, (_, n) => [`t${n}`.padEnd(64, 'x'), full + n]),
    )
    await record(counts)
    const [item] = runtime.store.all() as (Item & { tenants: string[] })[]
    expect(item?.tenants).toContain('t6999'.padEnd(64, 'x'))
    expect(item?.tenants).not.toContain('t0'.padEnd(64, 'x'))
    expect(JSON.stringify(item).length).toBeLessThan(400_000)
  })
})
