import { beforeAll, describe, expect, test } from '@jest/globals'
import { checkWindow } from '#bin/commands/events/replay.ts'
import type { Operator } from '#bin/commands/stack/operator-audit.ts'
import { eraseOrder } from '#bin/commands/tenants/erase-order.ts'
import { purgeTenant } from '#bin/commands/tenants/purge-tenant.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import { movableSystemClock } from '#test/support/clocks.ts'
import { itemsOf } from '#test/support/dynamodb-client.ts'
import { order, placeOrder } from '#test/support/place-order.ts'
import { type Service, startService } from '#test/support/service.ts'

let service: Service
let operator: Operator
beforeAll(async () => {
  const clock = movableSystemClock()
  service = await startService({ clock })
  operator = { table: service.table, clock, name: 'jane' }
})

const place = (tenant: string, key: string, cart_id: string) =>
  placeOrder(service, tenant, { key, body: { ...order, cart_id } })

/** All items except idempotency records, which expire. */
async function keptText(): Promise<string> {
  const items = await itemsOf(service.tableName)
  return JSON.stringify(items.filter(({ pk }) => !pk.startsWith('idempotency#')))
}

describe('an order erased by an operator', () => {
  test('returns 410, is absent from lists and storage, and is audited', async () => {
    const as = { tenant: 'erasing', role: 'Viewer' }
    const { json: erased } = await place('erasing', 'one', 'canary-cart')
    const { json: kept } = await place('erasing', 'two', 'other-cart')
    expect(await keptText()).toContain('canary-cart')
    expect(await eraseOrder(operator, 'erasing', erased.id)).toBe(true)
    expect(await keptText()).not.toContain('canary-cart')
    const read = await service.call({ path: `/v1/orders/${erased.id}`, as })
    expect([read.status, read.json.error.code]).toEqual([410, 'GONE.order'])
    const list = await service.call({ path: '/v1/orders', as })
    expect(list.json.data.map(({ id }: { id: string }) => id)).toEqual([kept.id])
    expect(await service.items('erasing', 'order_cart')).toMatchObject([
      { sk: expect.stringContaining(`#${kept.id}`) },
    ])
    expect(await service.items('erasing', 'audit')).toMatchObject([
      { actor_id: 'jane', action: 'order.erase', target: `order/${erased.id}`, result: 'allow' },
    ])
  })

  test('is erased once, and stays gone if its creation is retried', async () => {
    const { json, body } = await place('again', 'key', 'cart')
    expect(await eraseOrder(operator, 'again', json.id)).toBe(true)
    expect(await eraseOrder(operator, 'again', json.id)).toBe(false)
    expect(await service.items('again', 'audit')).toHaveLength(1)
    const replay = await place('again', 'key', 'cart')
    expect([replay.body, replay.headers['Idempotency-Status']]).toEqual([body, 'replayed'])
    expect(await service.items('again', 'order')).toMatchObject([{ id: json.id, version: 2 }])
  })

  test('of another tenant is not affected', async () => {
    const { json } = await place('theirs', 'key', 'cart')
    const erasing = eraseOrder(operator, 'mine', json.id)
    await expect(erasing).rejects.toThrow(/order/)
    expect(await service.items('theirs', 'order')).toMatchObject([{ cart_id: 'cart' }])
  })
})

describe('a tenant purged by an operator', () => {
  test('has no items in any shard except its audit, and other tenants keep theirs', async () => {
    for (let n = 0; n < 3; n += 1) await place('leaving', `k${n}`, 'canary-leaving')
    await place('staying', 'k', 'canary-staying')
    const customers = Array.from({ length: 120 }, (_, n) => ({
      ...keyOf('leaving', 'customer', `customer-${n}`),
      name: 'canary-leaving',
    }))
    for (const item of customers) await service.table.put({ item, condition: 'none' })
    const deleted = await purgeTenant(operator, 'leaving', { withAudit: false })
    expect(deleted).toMatchObject({ order: 3, customer: 120, refund: 0 })
    expect(await keptText()).not.toContain('canary-leaving')
    expect(await keptText()).toContain('canary-staying')
    expect(await service.items('leaving', 'audit')).toMatchObject([
      { actor_id: 'jane', action: 'tenant.block' },
      { actor_id: 'jane', action: 'tenant.purge', after: { state: 'started' } },
      { actor_id: 'jane', action: 'tenant.purge', after: { order: 3, customer: 120 } },
    ])
  })

  test('again counts what was stored since, and may lose its audit', async () => {
    await place('leaving', 'later', 'c')
    const deleted = await purgeTenant(operator, 'leaving', { withAudit: true })
    expect(deleted).toMatchObject({ order: 1, customer: 0 })
    expect(await keptText()).not.toContain('#leaving#')
  })
})

describe('a purge', () => {
  test('that was interrupted is in the audit, and counts the items of both runs when it is repeated', async () => {
    for (let n = 0; n < 60; n += 1)
      await service.table.put({
        item: { ...keyOf('interrupted', 'customer', `customer-${n}`) },
        condition: 'none',
      })
    await place('interrupted', 'k', 'c')
    let transactions = 0
    const transact: Operator['table']['transact'] = async (changes) => {
      transactions += 1
      // The block, the start, the order, and some of the partitions of customers come before.
      if (transactions === 12) throw new Error('interrupted')
      return service.table.transact(changes)
    }
    const failing = { ...operator, table: { ...service.table, transact } }
    const purging = purgeTenant(failing, 'interrupted', { withAudit: false })
    await expect(purging).rejects.toThrow('interrupted')
    expect(await service.items('interrupted', 'audit')).toMatchObject([
      { actor_id: 'jane', action: 'tenant.block' },
      { actor_id: 'jane', action: 'tenant.purge', after: { state: 'started' } },
    ])
    const deleted = await purgeTenant(operator, 'interrupted', { withAudit: false })
    expect(deleted).toMatchObject({ order: 1, customer: 60 })
  })

  test('deletes items in transactions below 4 MB, whatever their size', async () => {
    const sizes: number[] = []
    const large = { name: 'x'.repeat(390_000) }
    for (let n = 0; n < 14; n += 1)
      await service.table.put({
        item: { ...keyOf('large', 'code_lock', `${n}`), ...large },
        condition: 'none',
      })
    const transact: Operator['table']['transact'] = async (changes) => {
      const removals = changes.filter(
        (change) => 'remove' in change && change.remove.pk.includes('code_lock'),
      )
      sizes.push(removals.length * large.name.length)
      return service.table.transact(changes)
    }
    const watched = { ...operator, table: { ...service.table, transact } }
    expect(await purgeTenant(watched, 'large', { withAudit: false })).toMatchObject({ code_lock: 14 })
    expect(Math.max(...sizes)).toBeLessThan(4_000_000)
  })

  test('of a name without data is refused, and leaves no audit record', async () => {
    const purging = purgeTenant(operator, 'mistyped', { withAudit: false })
    await expect(purging).rejects.toThrow('mistyped')
    expect(await service.items('mistyped', 'audit')).toEqual([])
  })

  test('of a name without data is possible by force', async () => {
    const deleted = await purgeTenant(operator, 'empty', { withAudit: false, force: true })
    expect(deleted).toMatchObject({ order: 0 })
  })
})

test.each([
  ['may be in the past', 10, 11, undefined],
  ['begins before it ends', 11, 10, '--from must be before --to'],
  ['is not in the future', 10, 13, 'must not be in the future'],
])('the window of a replay %s', (_, from, to, refused) => {
  const at = (hour: number) => new Date(`2026-03-01T${hour}:00:00Z`)
  const check = () => checkWindow({ from: at(from), to: at(to) }, at(12).getTime())
  if (refused === undefined) expect(check).not.toThrow()
  else expect(check).toThrow(refused)
})
