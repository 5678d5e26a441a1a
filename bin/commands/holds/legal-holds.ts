import {
  countHolds,
  holdableEntities,
  holdKey,
  type LegalHold,
  tenantTarget,
} from '#shared/holds/legal-hold.ts'
import { timestamp } from '#shared/platform/base/clock.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import type { Change, Table } from '#shared/platform/table/table.ts'
import { auditOfOperator, type Operator } from '../stack/operator-audit.ts'
import { requireData } from '../tenants/tenant-data.ts'

interface HoldOf {
  tenant: string
  /** `tenant`, or an entity and an id: `order/…`. */
  target: string
  reason: string
}

/**
 * Sets a hold. A transaction that deletes the target is either committed before it, or refused.
 * @param hold `force` also holds a name without data
 * @throws Error if the target is held already, or if the tenant has no such item or no data
 */
export async function setHold(
  operator: Operator,
  { tenant, target, reason, force = false }: HoldOf & { force?: boolean },
): Promise<LegalHold> {
  if (target === tenantTarget && !force) await requireData(operator, tenant)
  const { table, clock, name: set_by } = operator
  const hold: LegalHold = { target, reason, set_by, set_at: timestamp(clock.now()) }
  const refusal = await table.transact([
    { item: { ...holdKey(tenant, target), ...hold }, condition: { absent: true } },
    ...existing(tenant, target),
    countHolds(tenant, 1),
    auditOfOperator(operator, tenant, { action: 'legal_hold.set', target, reason }),
  ])
  if (refusal?.index === 0) throw new Error(`${target} is held already: \`holds list\` shows why`)
  if (refusal) throw new Error(`the tenant has no ${target.replace('/', ' ')}`)
  return hold
}

/** Lifts a hold. @throws Error if there is none on the target */
export async function liftHold(operator: Operator, { tenant, target, reason }: HoldOf): Promise<void> {
  const refusal = await operator.table.transact([
    { remove: holdKey(tenant, target), condition: { matches: { target } } },
    countHolds(tenant, -1),
    auditOfOperator(operator, tenant, { action: 'legal_hold.lift', target, reason }),
  ])
  if (refusal) throw new Error(`there is no hold on ${target}: \`holds list\` shows all`)
}

/** Yields the holds of a tenant, by target. */
export async function* listHolds(table: Table, tenant: string): AsyncGenerator<LegalHold> {
  const { pk: partition } = holdKey(tenant, tenantTarget)
  for (let last = ' '; ; ) {
    const range = { partition, low: last, high: '\u{10ffff}', descending: false, limit: 500 }
    const { items, exhausted } = await table.readRange(range)
    // The range includes the last item of the page before. The number of the holds has no target.
    for (const { pk: _pk, sk, ...hold } of items)
      if (sk !== last && 'target' in hold) yield hold as unknown as LegalHold
    if (exhausted) return
    last = String(items.at(-1)?.sk)
  }
}

/** Requires that the item to hold exists. A deletion changes the item, so the table orders it before or after. */
function existing(tenant: string, target: string): Change[] {
  const [entity, id = ''] = target.split('/')
  const held = holdableEntities.find((one) => one === entity)
  // The tombstone of an erased order names no tenant.
  return held ? [{ check: keyOf(tenant, held, id), condition: { matches: { id, tenant_id: tenant } } }] : []
}
