import { beforeAll, describe, expect, test } from '@jest/globals'
import { liftHold, setHold } from '#bin/commands/holds/legal-holds.ts'
import { holdCountKey, tenantTarget } from '#shared/holds/legal-hold.ts'
import { admin, codeCalls, seeded } from '#test/codes/code-calls.ts'
import { outcome } from '#test/support/outcome.ts'
import { uniqueTenant } from '#test/support/unique-tenant.ts'
import type { Fault } from './faults.ts'
import { useFaultyService } from './faulty-service.ts'

const service = await useFaultyService()
const { hardDelete } = codeCalls(service)

const operator = () => ({ table: service.table, clock: service.clock, name: 'jane' })
const hold = (tenant: string, target: string) => ({ tenant, target, reason: 'case 4711', force: true })

describe('a hard delete', () => {
  let calls: number
  beforeAll(async () => {
    const { tenant_id: tenant, id } = await seeded(service, uniqueTenant('holding'))
    service.faults.reset()
    expect((await hardDelete(admin(tenant), id, 'a mistake')).status).toBe(204)
    calls = service.faults.calls.length
  })

  test.each(['the code', 'the tenant'])(
    'is refused if a hold on %s is set before any of its calls',
    async (held) => {
      for (let at = 0; at < calls; at += 1) {
        const { tenant_id: tenant, id } = await seeded(service, uniqueTenant('holding'))
        const target = held === 'the code' ? `code/${id}` : tenantTarget
        service.faults.reset()
        service.inject({ first: () => setHold(operator(), hold(tenant, target)) }, at)
        const answer = await hardDelete(admin(tenant), id, 'a mistake')
        expect(outcome(answer)).toBe('409 POLICY.legal_hold')
        expect(await service.items(tenant, 'code')).toHaveLength(1)
      }
    },
  )
})

const faults: Fault[] = [
  ...(['lose-answer', 'lose-request', 'throttle', 'internal', 'unavailable'] as const),
  ...(['conflict', 'in-progress'] as const),
]
test.each(faults)('under %s on its transaction, a hold is set once and released once', async (fault) => {
  const tenant = uniqueTenant('holding')
  const countOf = async () => (await service.table.get(holdCountKey(tenant)))?.holds
  for (const [change, count] of [[setHold, 1] as const, [liftHold, 0] as const]) {
    service.faults.reset()
    service.inject(fault)
    await change(operator(), hold(tenant, tenantTarget))
    expect(await countOf()).toBe(count)
  }
})
