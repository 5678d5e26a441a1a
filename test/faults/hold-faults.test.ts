import { beforeAll, describe, expect, test } from '@jest/globals'
import { releaseHold, setHold } from '#bin/commands/legal-holds.ts'
import { holdCountKey, tenantTarget } from '#shared/holds/legal-hold.ts'
import type { Answer } from '#test/support/service.ts'
import type { Fault } from './faults.ts'
import { expectRetryable, useFaultyService } from './faulty-service.ts'

const fields = { code: 'A', type: 'percent-10', name: 'A code', expiry_at: '2099-01-01T00:00:00.000Z' }
const faults: Fault[] = [
  'lose-answer',
  'lose-request',
  'throttle',
  'internal',
  'unavailable',
  'conflict',
  'in-progress',
]
const service = await useFaultyService()
let tenants = 0

const as = (tenant: string) => ({ tenant, role: 'Admin', scope: 'codes:read codes:write' })
const operator = () => ({ table: service.table, clock: service.clock, name: 'jane' })
const hold = (tenant: string, target: string) => ({ tenant, target, reason: 'case 4711', force: true })

async function createCode(): Promise<{ tenant: string; id: string }> {
  const tenant = `holding-${tenants++}`
  const headers = { 'Idempotency-Key': 'created' }
  const { json } = await service.call({
    method: 'POST',
    path: '/codes',
    as: as(tenant),
    headers,
    body: fields,
  })
  return { tenant, id: json.id }
}

function hardDelete({ tenant, id }: { tenant: string; id: string }): Promise<Answer> {
  const headers = { 'X-Audit-Log-Reason': 'a mistake', 'Idempotency-Key': 'deleted' }
  return service.call({ method: 'DELETE', path: `/codes/${id}?force=true`, as: as(tenant), headers })
}

function expectHeld({ status, json }: Answer): void {
  expect([status, json.error.code]).toEqual([409, 'POLICY.legal_hold'])
}

/** The operations of the table during a hard delete without faults. */
async function callsOf(): Promise<string[]> {
  const code = await createCode()
  service.faults.reset()
  expect((await hardDelete(code)).status).toBe(204)
  return service.faults.calls.map(({ operation }) => operation)
}

describe('a hard delete', () => {
  let calls: string[]
  beforeAll(async () => {
    calls = await callsOf()
  })

  test.each(['the code', 'the tenant'])(
    'is refused if a hold on %s is set before any of its calls',
    async (held) => {
      for (const at of calls.keys()) {
        const code = await createCode()
        const target = held === 'the code' ? `code/${code.id}` : tenantTarget
        service.faults.reset()
        service.inject({ first: () => setHold(operator(), hold(code.tenant, target)) }, at)
        expectHeld(await hardDelete(code))
        expect(await service.items(code.tenant, 'code')).toHaveLength(1)
      }
    },
  )

  test.each(faults)('of a held code is refused or retryable under %s on any of its calls', async (fault) => {
    const isOfTransactions = fault === 'conflict' || fault === 'in-progress'
    for (const [at, operation] of calls.entries()) {
      if (isOfTransactions && operation !== 'TransactWriteItems') continue
      const code = await createCode()
      await setHold(operator(), hold(code.tenant, `code/${code.id}`))
      service.faults.reset()
      service.inject(fault, at)
      const answer = await hardDelete(code)
      if (answer.status !== 409) expectRetryable(answer)
      service.endFaults(fault)
      expectHeld(await hardDelete(code))
      expect(await service.items(code.tenant, 'code')).toHaveLength(1)
    }
  })
})

describe.each(faults)('under %s on its transaction', (fault) => {
  const countOf = async (tenant: string) => (await service.table.get(holdCountKey(tenant)))?.holds

  test('a hold is set once', async () => {
    const { tenant, id } = await createCode()
    service.faults.reset()
    service.inject(fault)
    await setHold(operator(), hold(tenant, `code/${id}`))
    expect(await countOf(tenant)).toBe(1)
  })

  test('a hold is released once', async () => {
    const { tenant } = await createCode()
    await setHold(operator(), hold(tenant, tenantTarget))
    service.faults.reset()
    service.inject(fault)
    await releaseHold(operator(), hold(tenant, tenantTarget))
    expect(await countOf(tenant)).toBe(0)
  })
})
