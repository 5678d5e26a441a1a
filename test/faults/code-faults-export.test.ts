import { beforeAll, describe, expect, test } from '@jest/globals'
import { parse } from 'csv-parse/sync'
import type { Code } from '#shared/codes/code.ts'
import { exportChunks } from '#shared/codes/code-export.ts'
import { createCode, removedCode } from '#shared/codes/code-store.ts'
import { headOf } from '#shared/platform/formats/file-store.ts'
import type { Table } from '#shared/platform/table/table.ts'
import { codeOf, storeMany as storeCodesOf } from '#test/codes/code-calls.ts'
import { outcome } from '#test/support/outcome.ts'
import { someOf } from '#test/support/runs.ts'
import type { Service } from '#test/support/service.ts'
import { localSettings, longTimeoutSettings } from '#test/support/settings.ts'
import { uniqueTenant } from '#test/support/unique-tenant.ts'
import type { Call } from './faults.ts'
import { expectRetryable, useFaultyService } from './faulty-service.ts'

const forever = Number.POSITIVE_INFINITY
const service = await useFaultyService()

const newTenant = () => uniqueTenant('exporter')
const inPagesOf = (readBudget: number, limits: object = {}) => ({
  ...localSettings,
  'codes.export': { ...localSettings['codes.export'], ...limits },
  'lists.readBudget': readBudget,
})
const download = (from: Service, tenant: string, headers: Record<string, string> = {}) =>
  from.call({ path: '/codes:export', as: { tenant, role: 'Editor', scope: 'codes:read' }, headers })

const storeMany = (tenant: string, count: number) => storeCodesOf(service, tenant, count)

const idsOf = (csv: Buffer | string | undefined) =>
  parse<{ id: string }>(csv ?? '', { columns: true }).map(({ id }) => id)

const isQuery = ({ operation }: Call) => operation === 'Query'
const queries = () => service.faults.calls.filter(isQuery).length

const outlets: [string, object][] = [
  ['in a response', {}],
  ['in a file', { inlineMaxBytes: 500 }],
]

describe.each(outlets)('an export %s', (_, limits) => {
  /** Returns the contents of an export, in the response or in its file. */
  async function exported(from: Service, tenant: string) {
    const { body } = await download(from, tenant)
    const [file] = [...from.files.values()]
    return idsOf(body ?? file?.bytes)
  }

  test.each([1, 7, 99, 100, 101])('of 100 codes in pages of %d contains each exactly once', async (page) => {
    const tenant = newTenant()
    const stored = await storeMany(tenant, 100)
    const paged = await service.likewise(inPagesOf(page, limits))
    expect(await exported(paged, tenant)).toEqual(stored.map(({ id }) => id))
  })

  test('concurrent with creates and deletes contains every code that existed throughout, exactly once', async () => {
    const tenant = newTenant()
    const stored = await storeMany(tenant, 90)
    const leaving = stored.filter((_, index) => index % 3 === 1)
    const staying = stored.filter((code) => !leaving.includes(code)).map(({ id }) => id)
    const doomed = leaving.toReversed()
    const made: Code[] = []
    const paged = await service.likewise(inPagesOf(8, limits))
    const change = async () => {
      const fresh = codeOf(tenant)
      made.push(fresh)
      const writes = [...createCode(fresh), ...doomed.splice(0, 3).flatMap(removedCode)]
      await service.table.transact(writes.map(({ onFailure: _, ...change }) => change))
    }
    service.faults.inject({ when: isQuery, times: forever, fault: { first: change } })
    const ids = await exported(paged, tenant)
    expect(ids).toEqual([...new Set(ids)].toSorted())
    expect(ids.filter((id) => staying.includes(id))).toEqual(staying)
    const known = new Set([...stored, ...made].map(({ id }) => id))
    expect(ids.filter((id) => !known.has(id))).toEqual([])
    expect(doomed).toEqual([])
  })

  test('returns 504 when its budget ends, without a file or an audit record', async () => {
    const tenant = newTenant()
    await storeMany(tenant, 60)
    const slow = await service.likewise(inPagesOf(10, limits))
    const isFourth = (call: Call) => isQuery(call) && queries() === 4
    service.faults.inject({ when: isFourth, fault: { first: () => service.clock.advance(20_000) } })
    const answer = await download(slow, tenant)
    expect(outcome(answer)).toBe('504 DEPENDENCY.timeout')
    expect([slow.files.size, await service.items(tenant, 'audit')]).toEqual([0, []])
    expect(queries()).toBe(4)
  })
})

describe('an export while the table fails', () => {
  const names = ({ body }: Call, kind: string) => JSON.stringify(body).includes(`${kind}#`)
  const faults = ['lose-answer', 'lose-request', 'throttle', 'internal'] as const
  const often = [1, forever]
  let faulty: Service
  beforeAll(async () => {
    faulty = await service.likewise(inPagesOf(10, { inlineMaxBytes: 4000 }))
  })

  test.each([
    ['in a response', 15, 200],
    ['in a file', 30, 303],
  ])(
    '%s: it is complete or a retryable failure, and audited if it was returned',
    async (_, count, status) => {
      const tenant = newTenant()
      const ids = (await storeMany(tenant, count)).map(({ id }) => id)
      // Only the first one creates the counter of what the caller has read.
      for (let n = 0; n < 2; n += 1) {
        service.faults.reset()
        expect((await download(faulty, tenant)).status).toBe(status)
      }
      const { length } = service.faults.calls
      let audited = 2
      const injected = faults.flatMap((fault) => often.map((times) => [fault, times] as const))
      for (const [row, [fault, times]] of injected.entries()) {
        for (const at of someOf([...Array(length).keys()], row)) {
          faulty.files.clear()
          service.faults.reset()
          service.inject(fault, at, times)
          const answer = await download(faulty, tenant)
          if (answer.status >= 500) expectRetryable(answer)
          else expect(idsOf(answer.body ?? [...faulty.files.values()][0]?.bytes)).toEqual(ids)
          const { calls } = service.faults
          const [first] = calls.filter((call) => call.fault !== undefined)
          // A failure to count what was read fails no export. Counts are among the other calls in any order.
          if (first && !names(first, 'rate')) expect(answer.status === status).toBe(times === 1)
          // If the response to the record's write was lost, the record exists without a returned export.
          const isLost = calls.some((call) => call.fault === 'lose-answer' && names(call, 'audit'))
          if (answer.status === status || isLost) audited += 1
          service.endFaults(fault)
        }
      }
      expect(await service.items(tenant, 'audit')).toHaveLength(audited)
    },
  )
})

test('five thousand codes are exported with one query for each page and one more', async () => {
  const tenant = newTenant()
  const stored = await storeMany(tenant, 5000)
  const patient = await service.likewise(longTimeoutSettings)
  const answer = await download(patient, tenant, { 'X-Request-Timeout': '100000' })
  expect(idsOf(answer.body)).toEqual(stored.map(({ id }) => id))
  // A query that a busy machine keeps for three seconds is repeated.
  const bodies = service.faults.calls.filter(isQuery).map(({ body }) => JSON.stringify(body))
  expect(new Set(bodies).size).toBeLessThanOrEqual(5000 / localSettings['lists.readBudget'] + 1)
})

test.each(outlets)(
  'an export %s above its limit reads no page after the first row too many',
  async (_, limits) => {
    const tenant = newTenant()
    await storeMany(tenant, 100)
    const paged = await service.likewise(inPagesOf(10, { ...limits, maxRows: 40 }))
    expect(outcome(await download(paged, tenant))).toBe('409 POLICY.export.row_limit')
    expect([queries(), paged.files.size]).toEqual([5, 0])
  },
)

test('HEAD of an export reads no more than fits in a response', async () => {
  const tenant = newTenant()
  await storeMany(tenant, 100)
  const paged = await service.likewise(inPagesOf(2, { inlineMaxBytes: 500, maxRows: 99 }))
  const as = { tenant, role: 'Editor', scope: 'codes:read' }
  const { status } = await paged.call({ method: 'HEAD', path: '/codes:export', as })
  expect(status).toBe(303)
  // Two codes exceed 500 bytes with the header.
  expect(queries()).toBeLessThan(4)
})

test('a file is read one page ahead of its reader, beyond the size of a response', async () => {
  const pages = 40
  let reads = 0
  const table: Pick<Table, 'readRange'> = {
    async readRange() {
      reads += 1
      const items = Array.from({ length: 50 }, () => ({ pk: 'code#a#0', ...codeOf('a') }))
      return { items: items.map((item) => ({ ...item, sk: item.id })), exhausted: reads === pages }
    },
  }
  const context = { table: table as Table, settings: localSettings }
  const { whole, chunks } = await headOf(
    exportChunks('a', false, context, async () => {}),
    20_000,
  )
  expect(whole).toBeUndefined()
  const ahead = reads
  expect(ahead).toBeLessThan(5)
  let taken = 0
  for await (const _ of chunks) {
    expect(reads).toBeLessThanOrEqual(Math.max(ahead, taken++))
  }
  expect([reads, taken]).toEqual([pages, pages + 1])
})
