import { liftHold, setHold } from '#bin/commands/holds/legal-holds.ts'
import { eraseOrder } from '#bin/commands/tenants/erase-order.ts'
import { deleteTenant } from '#bin/commands/tenants/purge-tenant.ts'
import { holdCountKey, tenantTarget } from '#shared/holds/legal-hold.ts'
import { ownerOf } from '#shared/platform/table/keys.ts'
import { Client, type History } from './client.ts'
import type { StreamRecord } from './memory-store.ts'
import type { Transit } from './memory-table.ts'
import { operatorOf } from './operator.ts'
import { check, Violation } from './violation.ts'
import { tenants } from './workload.ts'
import type { World } from './world.ts'

const reason = 'case 4711'
const maxItems = 3
/** What commands say when a hold, or a deletion, was first. */
const expected = /legal hold|held already|no hold on|the tenant has no|no such order|no data of a tenant/

/**
 * At the end of some schedules, clients delete codes of a tenant permanently, and operators erase orders and delete the
 * tenant as a purge does, while others set and lift legal holds. Its random numbers are its own, so it moves no other seed.
 */
export async function raceHolds(world: World, history: History): Promise<void> {
  const random = world.random.fork('holds')
  if (!random.chance(0.3)) return
  const { scheduler, store, records, faults } = world
  const tenant = random.pick(tenants)
  const start = records.length
  const targetsOf = (entity: string) =>
    store
      .all()
      .filter(({ pk }) => ownerOf(pk).entity === entity && ownerOf(pk).tenant === tenant)
      .slice(0, maxItems)
      .map(({ sk }) => ({ id: sk, target: `${entity}/${sk}` }))
  const codes = targetsOf('code')
  const orders = targetsOf('order')
  const targets = [tenantTarget, ...[...codes, ...orders].map(({ target }) => target)]
  const window = random.pick([50, 200, 1000])
  const slow: Transit = async ({ effect }) => {
    await scheduler.sleep(random.int(20))
    return effect()
  }
  const operator = operatorOf(world, random, slow)
  const someTime = () => scheduler.sleep(random.next() * window)
  const command = async (name: string, work: () => Promise<unknown>) => {
    await someTime()
    scheduler.note('operator', name)
    await work().catch((thrown: Error) => {
      if (!expected.test(thrown.message)) throw new Violation('commands end', `${name}: ${thrown.message}`)
    })
  }
  const hold = async (target: string) => {
    await command(`holds ${target}`, () => setHold(operator, { tenant, target, reason, force: true }))
    if (random.chance(0.5))
      await command(`releases ${target}`, () => liftHold(operator, { tenant, target, reason }))
  }
  const hardDelete = async (id: string, at: number) => {
    await someTime()
    await new Client(`hold-race-${at}`, world, history).send({
      operation: 'codes.hard-delete',
      by: { tenant, role: 'Admin', sub: 'Admin' },
      method: 'DELETE',
      path: `/codes/${id}?force=true`,
      headers: { 'X-Audit-Log-Reason': 'a mistake' },
    })
  }
  faults.active = true
  await Promise.all([
    ...[0, 1, 2].map(() => hold(random.pick(targets))),
    ...codes.map(({ id }, at) => hardDelete(id, at)),
    ...orders.map(({ id }) => command(`erases ${id}`, () => eraseOrder(operator, tenant, id))),
    ...(random.chance(0.5)
      ? [command('purges', () => deleteTenant(operator, tenant, { withAudit: false }))]
      : []),
  ])
  faults.active = false
  checkChargeLocks(records.slice(start), tenant)
  const holds = store.all().filter(({ pk, target }) => pk === holdCountKey(tenant).pk && target !== undefined)
  const count = Number(store.get(holdCountKey(tenant))?.holds ?? 0)
  check(holds.length === count, 'holds are counted', () => `${holds.length} holds are counted as ${count}`)
}

/** Nothing is deleted while it is held, and nothing is held that is deleted, in the order of the table's changes. */
function checkChargeLocks(records: readonly StreamRecord[], tenant: string): void {
  const standing = new Set<string>()
  const deleted = new Set<string>()
  for (const { before, after } of records) {
    const { pk = '', sk = '' } = after ?? before ?? {}
    const { entity, tenant: owner } = ownerOf(pk)
    if (owner !== tenant) continue
    const show = () => `${entity}/${sk} while ${[...standing]} is held`
    if (entity === 'legal_hold' && sk !== holdCountKey(tenant).sk) {
      if (after) check(!deleted.has(sk), 'nothing is held that is gone', () => sk)
      if (after) standing.add(sk)
      else standing.delete(sk)
    } else if (entity === 'purge') {
      // It counts what each transaction of the purge deletes.
      check(standing.size === 0, 'nothing is purged under a hold', show)
    } else if (['code', 'order'].includes(entity) && before && (!after || after.erased_at !== undefined)) {
      const isHeld = standing.has(tenantTarget) || standing.has(`${entity}/${sk}`)
      check(!isHeld, 'nothing is deleted under a hold', show)
      deleted.add(`${entity}/${sk}`)
    }
  }
}
