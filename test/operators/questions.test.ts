import { describe, expect, test } from '@jest/globals'
import { readAudit, readLedger, readOperations, readRefunds } from '#bin/commands/ask/lists.ts'
import type { LineQuery, ReadLines } from '#bin/commands/ask/query.ts'
import type { Reach } from '#bin/commands/ask/reach.ts'
import { withLedger } from '#bin/commands/ask/with-ledger.ts'
import { endOperation } from '#shared/operations/end-operation.ts'
import { newOperation } from '#shared/operations/operation.ts'
import { createOperation } from '#shared/operations/operation-store.ts'
import { newId, systemClock } from '#shared/platform/base/clock.ts'
import { fail } from '#shared/platform/base/failure.ts'
import {
  entryAt,
  failurePartitions,
  keyOf,
  maxShards,
  pendingKeyOf,
  pendingPartitionsOf,
} from '#shared/platform/table/keys.ts'
import type { Table } from '#shared/platform/table/table.ts'
import { movableClock } from '#test/support/clocks.ts'
import { localSettings } from '#test/support/settings.ts'
import { newTable, openTable } from '#test/support/tables.ts'
import { auditRecord, type LargeStage, largeStage } from './large-stage.ts'
import { reachTo } from './reach-to.ts'

const start = Date.parse('2026-03-01T12:00:00Z')
const hour = 3_600_000
const minute = 60_000

/** Reads a list to its end. */
async function all<Entry>(
  read: ReadLines<Entry>,
  reach: Reach,
  query: Omit<LineQuery, 'limit'>,
  limit = 7,
): Promise<Entry[]> {
  const entries: Entry[] = []
  for (let cursor: string | undefined, complete = false; !complete; ) {
    const answer = await read(reach, { ...query, limit, cursor })
    expect(answer.lines.length).toBeLessThanOrEqual(limit)
    entries.push(...answer.lines)
    ;({ cursor, complete } = answer)
  }
  return entries
}

describe('a list of a tenant on a stage with 50 tenants of 100,000 items', () => {
  const bytes = Buffer.byteLength(
    JSON.stringify({ ...auditRecord(99_999, start), pk: 'audit#t0#63', sk: newId(systemClock) }),
  )
  const stage: LargeStage = {
    ...{ entity: 'audit', tenants: 50, items: 100_000, end: start, intervalMilliseconds: minute },
    attributesOf: auditRecord,
  }
  const reachOf = (changes: Partial<LargeStage> = {}): Reach => ({
    ...reachTo('none'),
    openTable: (units) => largeStage({ ...stage, ...changes }, units) as Table,
  })
  const ask = (query: Partial<LineQuery>, changes?: Partial<LargeStage>) =>
    readAudit(reachOf(changes), { tenant: 't0', limit: 100, ...query })

  test.each([
    ['the latest 100 records', {}, 100],
    ['the records of an hour', { from: start - hour, to: start }, 60],
    ['the records of an hour two months ago', { from: start - 1440 * hour, to: start - 1439 * hour }, 60],
    ['those of one actor in a day', { from: start - 24 * hour, actor: 'u3', limit: 1000 }, 1440],
  ])('reads %s and hardly more', async (_, query, items) => {
    const { lines: entries, units } = await ask(query)
    expect(entries.length).toBeGreaterThan(0)
    // Each partition takes a unit, a part of one at its end, and an item that nobody asked for.
    expect(units.read).toBeLessThanOrEqual(3 * maxShards + Math.ceil((items * bytes) / 4096))
  })

  test.each([
    ['a hundredth of the items', { items: 1000 }],
    ['one tenant', { tenants: 1 }],
  ])('takes the same units with %s', async (_, changes) => {
    const query = { from: start - 5 * hour, to: start - hour }
    const [one, other] = [await ask(query), await ask(query, changes)]
    expect(one.units).toEqual(other.units)
    expect(one.lines).toEqual(other.lines)
  })

  test('ends a search for what nobody did before it has read the whole audit', async () => {
    const { lines: entries, complete, cursor, units } = await ask({ actor: 'nobody' })
    expect({ entries, complete }).toEqual({ entries: [], complete: false })
    expect(cursor).toBeDefined()
    expect(units.read).toBeLessThan(2500)
  })
})

describe('the audit', () => {
  const clock = movableClock(start)
  const setUp = async () => {
    const name = await newTable()
    const table = openTable(name)
    const put = async (changes: Record<string, unknown>) => {
      clock.advance(minute)
      const id = newId(clock, maxShards)
      const item = { ...keyOf('acme', 'audit', id), ...auditRecord(0, clock.now()), ...changes }
      await table.put({ item, condition: 'none' })
      return id
    }
    return { reach: reachTo(name), put }
  }

  test('lists each record once, the latest first, over several answers', async () => {
    const { reach, put } = await setUp()
    const ids: string[] = []
    for (let n = 0; n < 40; n += 1) ids.push(await put({}))
    expect((await all(readAudit, reach, { tenant: 'acme' })).map(({ id }) => id)).toEqual(ids.toReversed())
  })

  test.each([
    ['the actor', { actor_id: 'jane' }, { actor: 'jane' }],
    ['an API key', { token_sub: 'api-key:k1' }, { actor: 'api-key:k1' }],
    ['the action', { action: 'hard_delete' }, { action: 'hard_delete' }],
    ['the target', { target: 'code/1' }, { target: 'code/1' }],
    ['the result', { result: 'deny' }, { result: 'deny' as const }],
    ['the correlation id', { correlation_id: 'c' }, { correlationId: 'c' }],
  ])('is filtered by %s', async (_, changes, filter) => {
    const { reach, put } = await setUp()
    await put({ actor_id: 'u', token_sub: 'u', target: 'code/2' })
    const id = await put({ actor_id: 'u', token_sub: 'u', target: 'code/2', ...changes })
    await put({ actor_id: 'u', token_sub: 'u', target: 'code/2' })
    expect((await all(readAudit, reach, { tenant: 'acme', ...filter })).map((one) => one.id)).toEqual([id])
  })

  test('needs a tenant', async () => {
    await expect(readAudit(reachTo('none'), { limit: 1 })).rejects.toThrow('--tenant')
  })
})

describe('refunds', () => {
  const refundOf = (id: string, tenant: string, changes: object = {}) => ({
    ...keyOf(tenant, 'refund', id),
    ...{ id, tenant_id: tenant, charge_id: 'ch_1', amount: 100, status: 'pending', account: 'acct_1' },
    ...{ created_at: '', updated_at: '', version: 1, request_name: 'the name of a request', ...changes },
  })

  /** Stores a refund that its saga pays. */
  async function started(table: Table, tenant: string, clock = movableClock(start)) {
    const id = newId(clock, maxShards)
    const record = { pk: `idempotency#${id}`, sk: 'record' }
    const refund = refundOf(id, tenant)
    const entry = pendingKeyOf('pending-saga', entryAt(start, newId(clock)))
    const saga = { state: refund, entry: entry.sk }
    await table.put({ item: refund, condition: 'none' })
    await table.put({ item: { ...record, state: 'pending', saga }, condition: 'none' })
    await table.put({ item: { ...entry, operation: 'refunds.create', record, tenant }, condition: 'none' })
    return id
  }

  /** Stores a refund about which the provider must be asked. */
  async function accepted(table: Table, tenant: string, changes: object = {}, at = start) {
    const id = newId(movableClock(at), maxShards)
    await table.put({
      item: refundOf(id, tenant, { provider_refund_id: 're_1', ...changes }),
      condition: 'none',
    })
    await table.put({
      item: { ...pendingKeyOf('unsettled-refund', entryAt(start, id)), tenant },
      condition: 'none',
    })
    return id
  }

  test('that are pending are listed of all tenants, the latest first', async () => {
    const name = await newTable()
    const table = openTable(name)
    const first = await accepted(table, 'acme')
    const second = await started(table, 'other', movableClock(start + 1000))
    await accepted(table, 'acme', { status: 'succeeded' })
    const listed = await all(readRefunds, reachTo(name), {}, 1)
    expect(listed.map(({ id, tenant_id }) => [id, tenant_id])).toEqual([
      [second, 'other'],
      [first, 'acme'],
    ])
  })

  test('that are pending for an hour are those before it', async () => {
    const name = await newTable()
    const table = openTable(name)
    const old = await accepted(table, 'acme', {}, start - hour - 1)
    await accepted(table, 'acme')
    expect((await all(readRefunds, reachTo(name), { to: start - hour })).map(({ id }) => id)).toEqual([old])
  })

  test('that are pending take units of what waits, whatever the tenants have', async () => {
    const name = await newTable()
    const table = openTable(name)
    const count = 5
    for (let n = 0; n < count; n += 1) await accepted(table, `t${n}`)
    for (let n = 0; n < 50; n += 1)
      await table.put({
        item: refundOf(newId(systemClock, maxShards), 't0', { status: 'succeeded' }),
        condition: 'none',
      })
    const reads: string[] = []
    const reach: Reach = { ...reachTo(name), openTable: () => watched(openTable(name), reads) }
    await readRefunds(reach, { limit: 100 })
    expect(reads.filter((read) => read === 'range')).toHaveLength(
      2 * pendingPartitionsOf('unsettled-refund').length,
    )
    expect(reads.filter((read) => read === 'item')).toHaveLength(count)
  })

  test('in another status need a tenant', async () => {
    await expect(readRefunds(reachTo('none'), { status: 'failed', limit: 1 })).rejects.toThrow('--tenant')
  })

  test('show neither the name of the request nor what its saga needs', async () => {
    const name = await newTable()
    await accepted(openTable(name), 'acme')
    const [line] = await all(readRefunds, reachTo(name), { tenant: 'acme' })
    expect(Object.keys(line ?? {})).not.toContain('request_name')
  })

  test('have their entries in the ledger', async () => {
    const name = await newTable()
    const table = openTable(name)
    const id = await accepted(table, 'acme', { status: 'reversed' })
    for (const [kind, amount] of [
      ['payout', 100],
      ['reversal', -100],
    ] as const)
      await table.put({
        item: { ...keyOf('acme', 'ledger', id), sk: `${id}#${kind}`, refund_id: id, kind, amount, at: '' },
        condition: 'none',
      })
    const refunds = await all(readRefunds, reachTo(name), { tenant: 'acme' })
    const { lines } = await withLedger(refunds, reachTo(name))
    expect(lines).toMatchObject([{ id, ledger: [{ amount: 100 }, { amount: -100 }] }])
    expect(await all(readLedger, reachTo(name), { tenant: 'acme' }, 1)).toHaveLength(2)
  })
})

describe('operations', () => {
  const settings = localSettings

  async function failing(table: Table, tenant: string, at: number) {
    const clock = movableClock(at)
    const id = newId(clock)
    const operation = newOperation(
      { id, tenant_id: tenant, correlation_id: `c-${tenant}`, source: { kind: 'inline' }, file_hash: '' },
      settings,
    )
    await table.transact(
      createOperation(operation, 'imports', settings).map(({ onFailure: _, ...change }) => change),
    )
    clock.advance(minute)
    await endOperation(
      { tenant, operation_id: id },
      () => ({ trigger: 'fail', failure: fail('TRANSIENT.error') }),
      { table, clock },
    )
    return id
  }

  test('that failed are found in all tenants, by the time of the failure', async () => {
    const name = await newTable()
    const table = openTable(name)
    const [old, young] = [await failing(table, 'acme', start), await failing(table, 'other', start + hour)]
    const failed = await all(readOperations, reachTo(name), {})
    expect(failed).toMatchObject([
      { id: young, tenant_id: 'other', state: 'failed', error: { code: 'TRANSIENT.error' } },
      { id: old, tenant_id: 'acme' },
    ])
    const since = await all(readOperations, reachTo(name), { from: start + hour })
    expect(since.map(({ id }) => id)).toEqual([young])
  })

  test('that failed are found by one read of each partition of the entries', async () => {
    const name = await newTable()
    const table = openTable(name)
    await failing(table, 'acme', start)
    const reads: string[] = []
    const reach: Reach = { ...reachTo(name), openTable: () => watched(openTable(name), reads) }
    await readOperations(reach, { limit: 100 })
    expect(reads.filter((read) => read === 'range')).toHaveLength(failurePartitions)
    expect(reads.filter((read) => read === 'item')).toHaveLength(1)
  })

  test('of a tenant are filtered by their state and their correlation id', async () => {
    const name = await newTable()
    const table = openTable(name)
    const id = await failing(table, 'acme', start)
    const found = async (query: Partial<LineQuery>) =>
      (await all(readOperations, reachTo(name), { tenant: 'acme', ...query })).map((one) => one.id)
    expect(await found({ status: 'failed' })).toEqual([id])
    expect(await found({ status: 'running' })).toEqual([])
    expect(await found({ correlationId: 'c-acme' })).toEqual([id])
    expect(await found({ correlationId: 'c' })).toEqual([])
  })
})

/** Returns a table that notes each range and each item that is read. */
function watched(table: Table, reads: string[]): Table {
  return {
    ...table,
    readRange(range) {
      reads.push('range')
      return table.readRange(range)
    },
    getMany(keys) {
      reads.push(...keys.map(() => 'item'))
      return table.getMany(keys)
    },
  }
}
