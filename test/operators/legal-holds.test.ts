import { beforeAll, describe, expect, test } from '@jest/globals'
import { eraseOrder } from '#bin/commands/erase-order.ts'
import { listHolds, releaseHold, setHold } from '#bin/commands/legal-holds.ts'
import type { Operator } from '#bin/commands/tenant-records.ts'
import { purgeTenant } from '#bin/commands/tenants/purge-tenant.ts'
import { holdCountKey } from '#shared/holds/legal-hold.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import { movableSystemClock } from '#test/faults/payment-saga.ts'
import { type Service, startService } from '#test/support/service.ts'

const reason = 'case 4711'
let service: Service
let operator: Operator
let tenants = 0
let codes = 0
let tenant: string
beforeAll(async () => {
  service = await startService()
  operator = { table: service.table, clock: movableSystemClock(), name: 'jane' }
})

/** Starts each test in a tenant without data. */
function newTenant(): void {
  tenants += 1
  tenant = `held-${tenants}`
}

const admin = () => ({ tenant, role: 'Admin', scope: 'codes:read codes:write' })
const send = (path: string, body: object, of = tenant) =>
  service.call({
    method: 'POST',
    path,
    as: { ...admin(), tenant: of },
    headers: { 'Idempotency-Key': crypto.randomUUID() },
    body,
  })
const placeOrder = async (of = tenant): Promise<string> =>
  (await send('/v1/orders', { cart_id: 'cart', amount_minor: 1250, currency: 'EUR' }, of)).json.id
const createCode = async (of = tenant): Promise<string> => {
  const fields = { type: 'percent-10', name: 'A code', expiry_at: '2099-01-01T00:00:00.000Z' }
  return (await send('/codes', { ...fields, code: `C-${codes++}` }, of)).json.id
}
const hardDelete = (id: string) =>
  service.call({
    method: 'DELETE',
    path: `/codes/${id}?force=true`,
    as: admin(),
    headers: { 'X-Audit-Log-Reason': 'a mistake' },
  })
const set = (target: string) => setHold(operator, { tenant, target, reason, force: true })
const release = (target: string) => releaseHold(operator, { tenant, target, reason: 'closed' })
const erase = (id: string) => eraseOrder(operator, tenant, id)
const purge = (by = operator) => purgeTenant(by, tenant, { withAudit: false })
const listed = async () => {
  const holds = []
  for await (const hold of listHolds(service.table, tenant)) holds.push(hold)
  return holds
}
const audited = async () =>
  (await service.items(tenant, 'audit')).map(({ action, target, reason }) => ({ action, target, reason }))

describe('a hold on a code', () => {
  let id: string
  beforeAll(async () => {
    newTenant()
    id = await createCode()
    await set(`code/${id}`)
  })

  test('refuses its hard delete with 409', async () => {
    const { status, json } = await hardDelete(id)
    expect([status, json.error.code]).toEqual([409, 'POLICY.legal_hold'])
  })

  test('leaves the code and its lock in place', async () => {
    await hardDelete(id)
    expect(await service.items(tenant, 'code')).toMatchObject([{ id, version: 1 }])
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

  test('leaves other codes of the tenant deletable', async () => {
    expect((await hardDelete(await createCode())).status).toBe(204)
  })

  test('refuses the purge of the tenant, of which nothing is deleted', async () => {
    const order = await placeOrder()
    await expect(purge()).rejects.toThrow(`the tenant has data under legal hold`)
    expect(await service.items(tenant, 'order')).toMatchObject([{ id: order }])
    expect(await service.items(tenant, 'code')).toMatchObject([{ id }])
  })

  test('still permits a soft delete', async () => {
    const answer = await service.call({ method: 'DELETE', path: `/codes/${id}`, as: admin() })
    expect(answer.status).toBe(204)
  })

  test('ends with its release', async () => {
    await release(`code/${id}`)
    expect((await hardDelete(id)).status).toBe(204)
  })
})

describe('a hold on an order', () => {
  let id: string
  beforeAll(async () => {
    newTenant()
    id = await placeOrder()
    await set(`order/${id}`)
  })

  test('refuses its erasure', async () => {
    await expect(erase(id)).rejects.toThrow(`the order is under legal hold`)
    expect(await service.items(tenant, 'order')).toMatchObject([{ id, cart_id: 'cart' }])
  })

  test('leaves other orders of the tenant erasable', async () => {
    expect(await erase(await placeOrder())).toBe(true)
  })

  test('leaves other tenants purgeable', async () => {
    const other = `${tenant}-other`
    await placeOrder(other)
    expect(await purgeTenant(operator, other, { withAudit: false })).toMatchObject({ order: 1 })
  })

  test('ends with its release', async () => {
    await release(`order/${id}`)
    expect(await erase(id)).toBe(true)
  })
})

describe('a hold on a tenant', () => {
  let order: string
  let code: string
  beforeAll(async () => {
    newTenant()
    order = await placeOrder()
    code = await createCode()
    await set('tenant')
  })

  test('refuses the hard delete of any code', async () => {
    expect((await hardDelete(code)).json.error.code).toBe('POLICY.legal_hold')
  })

  test('refuses the erasure of any order', async () => {
    await expect(erase(order)).rejects.toThrow('under legal hold')
  })

  test('refuses a purge, also one with the audit', async () => {
    const purging = purgeTenant(operator, tenant, { withAudit: true, force: true })
    await expect(purging).rejects.toThrow('under legal hold')
  })

  test('is not replaced by the release of another hold', async () => {
    await set(`order/${order}`)
    await release(`order/${order}`)
    await expect(purge()).rejects.toThrow('under legal hold')
  })

  test('ends with its release', async () => {
    await release('tenant')
    expect(await purge()).toMatchObject({ order: 1, code: 1 })
  })

  test('leaves nothing behind but the audit after the purge', async () => {
    expect(await service.table.get(holdCountKey(tenant))).toBeUndefined()
  })
})

describe('holds set', () => {
  beforeAll(newTenant)

  test('returns the hold, which holds list shows', async () => {
    const target = `order/${await placeOrder()}`
    const hold = await set(target)
    expect(hold).toEqual({ target, reason, set_by: 'jane', set_at: expect.any(String) })
    expect(await listed()).toEqual([hold])
  })

  test('writes an audit record with the reason', async () => {
    const target = `code/${await createCode()}`
    await set(target)
    expect(await audited()).toContainEqual({ action: 'legal_hold.set', target, reason })
  })

  test('refuses a second hold on a target, and counts one', async () => {
    newTenant()
    await set('tenant')
    await expect(set('tenant')).rejects.toThrow('tenant is held already')
    await release('tenant')
    await placeOrder()
    expect(await purge()).toMatchObject({ order: 1 })
  })

  test.each([
    ['order', placeOrder],
    ['code', createCode],
  ])('refuses the %s of another tenant', async (entity, create) => {
    const id = await create(`${tenant}-other`)
    await expect(set(`${entity}/${id}`)).rejects.toThrow(`the tenant has no ${entity} ${id}`)
  })

  test('refuses an order that was erased', async () => {
    const id = await placeOrder()
    await erase(id)
    await expect(set(`order/${id}`)).rejects.toThrow('the tenant has no order')
  })

  test('refuses a tenant without data, unless it is forced', async () => {
    newTenant()
    const hold = { tenant, target: 'tenant', reason }
    await expect(setHold(operator, hold)).rejects.toThrow(
      `no data of a tenant ${tenant} was found: check the name, or use --force`,
    )
    expect(await listed()).toEqual([])
    expect(await setHold(operator, { ...hold, force: true })).toMatchObject({ target: 'tenant' })
  })
})

describe('holds release', () => {
  beforeAll(newTenant)

  test('writes an audit record with its own reason', async () => {
    await set('tenant')
    await release('tenant')
    expect(await audited()).toContainEqual({
      action: 'legal_hold.release',
      target: 'tenant',
      reason: 'closed',
    })
  })

  test('refuses a target that is not held, and changes no count', async () => {
    await set('tenant')
    await expect(release(`order/${crypto.randomUUID()}`)).rejects.toThrow('there is no hold on order/')
    expect(await service.table.get(holdCountKey(tenant))).toMatchObject({ holds: 1 })
  })
})

test('holds list shows more holds than a page of the table', async () => {
  newTenant()
  const targets = Array.from({ length: 501 }, (_, n) => `code/${String(n).padStart(4, '0')}`)
  for (const target of targets)
    await service.table.put({ item: { ...keyOf(tenant, 'legal_hold', target), target }, condition: 'none' })
  expect((await listed()).map(({ target }) => target)).toEqual(targets)
})

describe('a hold that is set during a purge', () => {
  /** Runs a purge during which a hold is set right before a transaction of this number. */
  async function purgeWithHoldBefore(at: number): Promise<{ attempt: Promise<object>; reached: boolean }> {
    newTenant()
    for (let n = 0; n < 30; n += 1)
      await service.table.put({ item: { ...keyOf(tenant, 'customer', `customer-${n}`) }, condition: 'none' })
    await placeOrder()
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
      await expect(attempt).rejects.toThrow('under legal hold')
    }
  })

  test('says that the tenant stays blocked, and how to unblock it', async () => {
    const { attempt } = await purgeWithHoldBefore(3)
    await expect(attempt).rejects.toThrow(
      `${tenant} stays blocked: repeat the purge, or let its callers in again with \`tenants unblock ${tenant}\``,
    )
  })

  test('ends with its release, and the purge can be repeated', async () => {
    const { attempt } = await purgeWithHoldBefore(4)
    await expect(attempt).rejects.toThrow('under legal hold')
    await release('tenant')
    expect(await purge()).toMatchObject({ order: 1, customer: 30 })
  })
})
