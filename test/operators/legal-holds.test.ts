import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { liftHold, listHolds, setHold } from '#bin/commands/holds/legal-holds.ts'
import type { Operator } from '#bin/commands/stack/operator-audit.ts'
import { eraseOrder } from '#bin/commands/tenants/erase-order.ts'
import { purgeTenant } from '#bin/commands/tenants/purge-tenant.ts'
import { holdCountKey } from '#shared/holds/legal-hold.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import { movableSystemClock } from '#test/support/clocks.ts'
import { naming } from '#test/support/naming.ts'
import { outcome } from '#test/support/outcome.ts'
import { placeOrder } from '#test/support/place-order.ts'
import { type Service, startService } from '#test/support/service.ts'
import { newMemoryTable } from '#test/support/tables.ts'
import { uniqueTenant } from '#test/support/unique-tenant.ts'

const reason = 'case 4711'
let service: Service
let operator: Operator
let tenant: string
let codes = 0
beforeAll(async () => {
  service = await startService()
  operator = { table: service.table, clock: movableSystemClock(), name: 'jane' }
})
beforeEach(() => {
  tenant = uniqueTenant('held')
})

const admin = () => ({ tenant, role: 'Admin', scope: 'codes:read codes:write' })
const place = async (of = tenant): Promise<string> => (await placeOrder(service, of)).json.id
const createCode = async (of = tenant): Promise<string> => {
  const fields = { type: 'percent-10', name: 'A code', expiry_at: '2099-01-01T00:00:00.000Z' }
  const { json } = await service.call({
    method: 'POST',
    path: '/codes',
    as: { ...admin(), tenant: of },
    headers: { 'Idempotency-Key': crypto.randomUUID() },
    body: { ...fields, code: `C-${codes++}` },
  })
  return json.id
}
const hardDelete = async (id: string) =>
  outcome(
    await service.call({
      method: 'DELETE',
      path: `/codes/${id}?force=true`,
      as: admin(),
      headers: { 'X-Audit-Log-Reason': 'a mistake' },
    }),
  )
/** Erases an order. @returns what the command says if it refuses */
const erase = (id: string) => eraseOrder(operator, tenant, id).then(String, ({ message }: Error) => message)
const set = (target: string) => setHold(operator, { tenant, target, reason, force: true })
const lift = (target: string) => liftHold(operator, { tenant, target, reason: 'closed' })
const purge = (by = operator) => purgeTenant(by, tenant, { withAudit: false })
const listed = async () => {
  const holds = []
  for await (const hold of listHolds(service.table, tenant)) holds.push(hold)
  return holds
}
const audited = async () =>
  (await service.items(tenant, 'audit')).map(({ action, target, reason }) => ({ action, target, reason }))

describe.each([
  ['code', createCode, hardDelete, '409 POLICY.legal_hold', '204'],
  ['order', place, erase, 'the order is under legal hold', 'true'],
] as const)('a hold on the %s', (entity, create, remove, refused, removed) => {
  let id: string
  beforeEach(async () => {
    id = await create()
    await set(`${entity}/${id}`)
  })

  test('refuses its deletion, and leaves it as it is', async () => {
    const before = await service.items(tenant, entity)
    expect(await remove(id)).toContain(refused)
    expect(await service.items(tenant, entity)).toEqual(before)
  })

  test('leaves others of the tenant deletable', async () => {
    expect(await remove(await create())).toBe(removed)
  })

  test('refuses the purge of the tenant, of which nothing is deleted', async () => {
    const order = await place()
    await expect(purge()).rejects.toThrow('legal hold')
    expect(await service.items(tenant, 'order')).toContainEqual(expect.objectContaining({ id: order }))
  })

  test('ends when it is lifted', async () => {
    await lift(`${entity}/${id}`)
    expect(await remove(id)).toBe(removed)
  })

  test('is refused in another tenant', async () => {
    const other = await create(`${tenant}-other`)
    await expect(set(`${entity}/${other}`)).rejects.toThrow(naming(`${entity} … ${other}`))
  })
})

describe('a hold on a code', () => {
  let id: string
  beforeEach(async () => {
    id = await createCode()
    await set(`code/${id}`)
  })

  test('keeps its lock', async () => {
    await hardDelete(id)
    expect(await service.items(tenant, 'code_lock')).toMatchObject([{ code_id: id }])
  })

  test('has each refusal in the audit', async () => {
    await hardDelete(id)
    expect((await service.items(tenant, 'audit')).at(-1)).toMatchObject({
      action: 'hard_delete',
      target: `code/${id}`,
      result: 'deny',
      reason: 'POLICY.legal_hold',
    })
  })

  test('still permits a soft delete', async () => {
    const answer = await service.call({ method: 'DELETE', path: `/codes/${id}`, as: admin() })
    expect(answer.status).toBe(204)
  })
})

describe('a hold on a tenant', () => {
  beforeEach(() => set('tenant'))

  test('refuses the deletion of any code and any order', async () => {
    expect(await hardDelete(await createCode())).toBe('409 POLICY.legal_hold')
    expect(await erase(await place())).toContain('legal hold')
  })

  test('refuses a purge, also one with the audit and after another hold was lifted', async () => {
    const order = `order/${await place()}`
    await set(order)
    await lift(order)
    const purging = purgeTenant(operator, tenant, { withAudit: true, force: true })
    await expect(purging).rejects.toThrow('legal hold')
  })

  test('ends when it is lifted, and leaves nothing behind after the purge', async () => {
    await place()
    await lift('tenant')
    expect(await purge()).toMatchObject({ order: 1 })
    expect(await service.table.get(holdCountKey(tenant))).toBeUndefined()
  })

  test('is set once', async () => {
    await expect(set('tenant')).rejects.toThrow(/held/)
    await lift('tenant')
    await place()
    expect(await purge()).toMatchObject({ order: 1 })
  })
})

describe('holds set', () => {
  test('returns the hold, which holds list shows', async () => {
    const target = `order/${await place()}`
    const hold = await set(target)
    expect(hold).toEqual({ target, reason, set_by: 'jane', set_at: expect.any(String) })
    expect(await listed()).toEqual([hold])
  })

  test('and holds lift write audit records with their own reasons', async () => {
    await set('tenant')
    await lift('tenant')
    expect(await audited()).toEqual([
      { action: 'legal_hold.set', target: 'tenant', reason },
      { action: 'legal_hold.lift', target: 'tenant', reason: 'closed' },
    ])
  })

  test('refuses an order that was erased', async () => {
    const id = await place()
    await erase(id)
    await expect(set(`order/${id}`)).rejects.toThrow(/order/)
  })

  test('refuses a tenant without data, unless it is forced', async () => {
    const hold = { tenant, target: 'tenant', reason }
    await expect(setHold(operator, hold)).rejects.toThrow(
      `no data of a tenant ${tenant} was found: check the name, or use --force`,
    )
    expect(await listed()).toEqual([])
    expect(await setHold(operator, { ...hold, force: true })).toMatchObject({ target: 'tenant' })
  })
})

test('holds lift refuses a target that is not held, and changes no count', async () => {
  await set('tenant')
  await expect(lift(`order/${crypto.randomUUID()}`)).rejects.toThrow('order/')
  expect(await service.table.get(holdCountKey(tenant))).toMatchObject({ holds: 1 })
})

test('holds list shows more holds than a page of the table', async () => {
  const targets = Array.from({ length: 501 }, (_, n) => `code/${String(n).padStart(4, '0')}`)
  for (const target of targets)
    await service.table.put({ item: { ...keyOf(tenant, 'legal_hold', target), target }, condition: 'none' })
  expect((await listed()).map(({ target }) => target)).toEqual(targets)
})

describe('a hold that is set during a purge', () => {
  // A purge reads all shards of all entities, and these tests run a dozen of them.
  beforeAll(async () => {
    service = await startService({ tableName: newMemoryTable() })
    operator = { ...operator, table: service.table }
  })

  /** Runs a purge during which a hold is set right before a transaction of this number. */
  async function purgeWithHoldBefore(at: number): Promise<{ attempt: Promise<object>; reached: boolean }> {
    tenant = uniqueTenant('held')
    for (let n = 0; n < 30; n += 1)
      await service.table.put({ item: { ...keyOf(tenant, 'customer', `customer-${n}`) }, condition: 'none' })
    await place()
    let transactions = 0
    const transact: Operator['table']['transact'] = async (changes) => {
      transactions += 1
      if (transactions === at) await set('tenant')
      return service.table.transact(changes)
    }
    const attempt = purge({ ...operator, table: { ...service.table, transact } })
    await attempt.catch(() => undefined)
    return { attempt, reached: transactions >= at }
  }

  test('stops it, before whichever of its transactions it is set', async () => {
    for (let at = 1; ; at += 1) {
      const { attempt, reached } = await purgeWithHoldBefore(at)
      if (!reached) {
        // The last run met no transaction with its hold.
        expect(at).toBeGreaterThan(5)
        await attempt
        return
      }
      await expect(attempt).rejects.toThrow('legal hold')
    }
  })

  test('leaves the tenant blocked, says how to unblock it, and ends when it is lifted', async () => {
    const { attempt } = await purgeWithHoldBefore(4)
    await expect(attempt).rejects.toThrow(
      `${tenant} stays blocked: repeat the purge, or let its callers in again with \`tenants unblock ${tenant}\``,
    )
    await lift('tenant')
    expect(await purge()).toMatchObject({ order: 1, customer: 30 })
  })
})
