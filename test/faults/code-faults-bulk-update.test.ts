import { beforeEach, describe, expect, test } from '@jest/globals'
import { makeCode } from '#shared/codes/code.ts'
import { codeEtag, newCode } from '#shared/codes/code-store.ts'
import { newId, systemClock } from '#shared/platform/base/clock.ts'
import { outcome } from '#test/support/outcome.ts'
import { someOf } from '#test/support/runs.ts'
import type { Answer } from '#test/support/service.ts'
import { localSettings } from '#test/support/settings.ts'
import { uniqueTenant } from '#test/support/unique-tenant.ts'
import type { Call } from './faults.ts'
import { expectRetryable, useFaultyService } from './faulty-service.ts'

interface Change {
  id: string
  if_match: string
  name: string
}

const scope = 'codes:read codes:write'
const count = 30
const forever = Number.POSITIVE_INFINITY

let tenant: string
let items: Change[]
const service = await useFaultyService()
beforeEach(async () => {
  tenant = uniqueTenant('updater')
  const fields = { type: 'percent-10', name: 'Before', expiry_at: '2099-01-01T00:00:00.000Z' }
  const codes = Array.from({ length: count }, (_, n) => {
    const made = { id: newId(systemClock), tenant, createdBy: 'u1' }
    return makeCode({ code: `BULK-${n}`, ...fields }, made, localSettings)
  })
  await service.table.transact(codes.flatMap(newCode).map(({ onFailure: _, ...change }) => change))
  items = codes.map((code) => ({ id: code.id, if_match: codeEtag(code, localSettings), name: 'After' }))
})

const updateAll = (headers: Record<string, string> = {}, changes = items) =>
  service.call({
    method: 'POST',
    path: '/codes:bulkUpdate',
    as: { tenant, role: 'Editor', scope },
    headers: { 'Idempotency-Key': 'key', ...headers },
    body: { items: changes },
  })
const statusesOf = ({ json }: Answer) => json.items.map(({ status }: { status: number }) => status)
/** The executed rows, by their done entries. */
const isRow = ({ operation, body }: Call) =>
  operation === 'TransactWriteItems' && JSON.stringify(body).includes('"batch#')
const versions = async () => (await service.items(tenant, 'code')).map(({ version }) => version)
const audited = async (action: string) =>
  (await service.items(tenant, 'audit')).filter((record) => record.action === action)

/** Executes the first rows and fails at all others. */
async function interruptAfter(rows: number, fault: 'throttle' | 'lose-answer' | 'lose-request') {
  let begun = 0
  service.faults.inject({ when: (call) => isRow(call) && ++begun > rows, times: forever, fault })
  expectRetryable(await updateAll())
  service.endFaults(fault)
}

describe('an interrupted bulk update', () => {
  const rows = [0, 1, 16, 29]
  const faults = ['throttle', 'lose-answer', 'lose-request'] as const
  test.each(rows.flatMap((row, nth) => someOf(faults, nth).map((fault) => [row, fault] as const)))(
    'after %d rows (%s) resumes: each code is updated once, and every row is reported as updated',
    async (row, fault) => {
      await interruptAfter(row, fault)
      const answer = await updateAll()
      expect([answer.status, statusesOf(answer)]).toEqual([207, Array(count).fill(200)])
      expect(await versions()).toEqual(Array(count).fill(2))
      expect((await audited('update')).map(({ target }) => target).sort()).toEqual(
        items.map(({ id }) => `code/${id}`).sort(),
      )
      expect((await updateAll()).body).toBe(answer.body)
    },
  )

  test('reports a row as updated even if its code was updated again or hard-deleted since', async () => {
    await interruptAfter(20, 'throttle')
    const [changed, gone] = (await service.items(tenant, 'code')).filter(({ version }) => version === 2)
    const as = { tenant, role: 'Admin', scope }
    const [path, name] = [`/codes/${changed?.id}`, 'Much later']
    const patch = { method: 'PATCH', path, as, headers: { 'If-Match': '*' }, body: { name } }
    expect((await service.call(patch)).status).toBe(200)
    const headers = { 'X-Audit-Log-Reason': 'not wanted' }
    await service.call({ method: 'DELETE', path: `/codes/${gone?.id}?force=true`, as, headers })

    expect(statusesOf(await updateAll())).toEqual(Array(count).fill(200))
    const left = await service.items(tenant, 'code')
    expect(left).toHaveLength(count - 1)
    expect(left.find(({ id }) => id === changed?.id)).toMatchObject({ name, version: 3 })
    expect(await audited('update')).toHaveLength(count + 1)
  })
})

test('reports a row as updated if the write of an earlier attempt takes effect during the next one', async () => {
  const changes = items.slice(0, 1)
  const { promise, resolve: land } = Promise.withResolvers<void>()
  const late = service.faults.inject({ when: isRow, fault: { until: promise } })
  const first = await updateAll({ 'X-Request-Timeout': '400' }, changes)
  expect(outcome(first)).toBe('504 DEPENDENCY.timeout')
  // The next attempt finds no row done, but reads the updated code.
  const reading = service.faults.inject({
    when: ({ operation, body }) =>
      operation === 'GetItem' && JSON.stringify(body).includes(changes[0]?.id ?? ''),
    fault: 'hold-request',
  })
  const second = updateAll({}, changes)
  await reading.injected
  land()
  await late.injected
  reading.release()
  expect([(await second).status, statusesOf(await second)]).toEqual([207, [200]])
  expect((await versions()).toSorted()).toEqual([...Array(count - 1).fill(1), 2])
  expect(await audited('update')).toHaveLength(1)
})
