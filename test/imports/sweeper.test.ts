import { beforeEach, describe, expect, test } from '@jest/globals'
import { endAbandoned, type SweptOperations } from '#shared/operations/end-abandoned.ts'
import type { Workflow } from '#shared/platform/jobs/workflow.ts'
import { declaredTable } from '#test/support/declared-table.ts'
import { type ImportService, startImports } from './import-service.ts'

const most = 5
let service: ImportService
/** The checked operations, in the order of the checks. */
let checked: string[]
let start: number | undefined
const abandoned = new Set<string>()
const workflow: Workflow = {
  start: async () => {},
  async stateOf(name) {
    checked.push(name)
    return abandoned.has(name) ? 'ended' : 'running'
  },
}
beforeEach(async () => {
  service = await startImports()
  checked = []
  start = undefined
})

async function begin(tenant: string, operations: number): Promise<string[]> {
  const ids: string[] = []
  for (let n = 0; n < operations; n += 1)
    ids.push((await service.upload(tenant, `email\n${n}@example.com\n`)).json.operation_id)
  return ids
}

/** Runs the sweeper so many minutes after the first call: runs of successive minutes check tenants in turn. */
function sweep(minutes: number, stepMilliseconds = 0): Promise<SweptOperations> {
  start ??= Date.now()
  let now = start + minutes * 60_000
  const clock = {
    ...service.steps.clock,
    now: () => {
      now += stepMilliseconds
      return now
    },
  }
  return endAbandoned(
    workflow,
    { ...service, table: declaredTable('operations.end-abandoned', service.table), clock },
    most,
  )
}

describe('the sweeper', () => {
  test('ends an operation although another tenant has more and older ones than one run can check', async () => {
    await begin('large', 12)
    const [id = ''] = await begin('small', 1)
    abandoned.add(id)
    await sweep(2)
    expect((await service.operation('small', id)).state).toBe('failed')
  })

  test('checks at most its limit of operations in one run', async () => {
    await begin('large', 12)
    await sweep(2)
    expect(checked).toHaveLength(most)
  })

  test('checks all operations of one tenant within a few runs', async () => {
    const ids = await begin('large', 12)
    for (let minute = 2; minute < 5; minute += 1) await sweep(minute)
    expect([...new Set(checked)].sort()).toEqual(ids.sort())
  })

  test('checks all tenants within a few runs if there are more than one run can check', async () => {
    const ids: string[] = []
    for (let n = 0; n < 12; n += 1) ids.push(...(await begin(`tenant-${n}`, 1)))
    for (let minute = 2; minute < 5; minute += 1) await sweep(minute)
    expect([...new Set(checked)].sort()).toEqual(ids.sort())
  })

  test('stops at the end of its budget', async () => {
    await begin('large', 5)
    await sweep(2, 5000)
    expect(checked.length).toBeLessThan(5)
  })
})
