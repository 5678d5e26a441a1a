import { type Entity, type Key, keyOf } from '../platform/table/keys.ts'
import type { Check, Remove, Update, Write } from '../platform/table/table.ts'

/** The entities with items that can be deleted one by one, and so be held one by one. */
export const holdableEntities = ['order', 'code'] as const satisfies Entity[]
type HoldableEntity = (typeof holdableEntities)[number]

/** The target of a hold on all data of a tenant. Other targets are an entity and an id: `order/…`. */
export const tenantTarget = 'tenant'

/** A stored legal hold: while the item exists, its target cannot be deleted permanently. */
export interface LegalHold {
  target: string
  reason: string
  /** The operator who set it. */
  set_by: string
  set_at: string
}

export function holdKey(tenant: string, target: string): Key {
  return keyOf(tenant, 'legal_hold', target)
}

/**
 * The key of the number of a tenant's holds. It changes in the transactions that set and lift them, so a purge
 * depends on one item, whatever is held.
 */
export function holdCountKey(tenant: string): Key {
  return keyOf(tenant, 'legal_hold', 'count')
}

/** Returns the change of the number of holds. */
export function countHolds(tenant: string, summand: 1 | -1): Update {
  return { update: holdCountKey(tenant), set: {}, add: { holds: summand }, condition: 'none' }
}

/** Requires that neither an item nor its tenant is held. Part of the transaction that deletes the item. */
export function requireNoHold(tenant: string, entity: HoldableEntity, id: string): (Check & Write)[] {
  return [tenantTarget, `${entity}/${id}`].map((target) => ({
    check: holdKey(tenant, target),
    condition: { absent: true },
    onFailure: 'POLICY.legal_hold',
  }))
}

const noneHeld = { absentOrBelow: { attribute: 'holds', value: 1 } }

/** Requires that nothing of a tenant is held. Part of each transaction of a purge. */
export function requireNoHolds(tenant: string): Check {
  return { check: holdCountKey(tenant), condition: noneHeld }
}

/** Deletes the number of a tenant's holds if there are none. */
export function removeHoldCount(tenant: string): Remove {
  return { remove: holdCountKey(tenant), condition: noneHeld }
}
