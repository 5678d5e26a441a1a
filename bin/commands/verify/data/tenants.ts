import type { Cart } from '#shared/carts/cart.ts'
import type { AuditRecord } from '#shared/platform/audit/audit-record.ts'
import { isId } from '#shared/platform/base/clock.ts'
import { type Entity, type Item, isEntity, keyOf } from '#shared/platform/table/keys.ts'
import { type Fact, type ItemPromise, type SharedPromise, typedOwnerOf } from './promise.ts'

const separate = 'tenants are separate'

/** An item is of the tenant of its partition, and in the partition in which it is looked for. */
export const ownerPromise: ItemPromise = ({ pk, sk, tenant_id, body }, _, broken) => {
  const { entity, tenant } = typedOwnerOf({ pk })
  if (!isEntity(entity)) return
  if (tenant_id !== undefined && tenant_id !== tenant) broken(separate, `it names the tenant ${tenant_id}`)
  const [id = ''] = sk.split('#')
  const partition = keyOf(tenant, entity, id).pk
  if (partition !== pk) broken('items are where they are looked for', `it is in ${pk}, not in ${partition}`)
  if (entity !== 'delivery' || typeof body !== 'string') return
  const named: unknown = JSON.parse(body).data?.tenant_id
  if (named !== undefined && named !== tenant) broken(separate, `it holds an event of ${named}`)
}

type IdFact = { owner: string; at?: string } | { tenant: string; entity: string; sk: string; at?: string }

/** One object for each tenant: most ids have no other fact. */
const owners = new Map<string, IdFact>()

/** No item names an id of another tenant. */
export const idPromise: SharedPromise<IdFact> = {
  facts(item, state) {
    const { entity, tenant } = typedOwnerOf(item)
    if (!isEntity(entity)) return
    const owner = owners.get(tenant) ?? { owner: tenant }
    owners.set(tenant, owner)
    if (typeof item.id === 'string' && isId(item.id)) state('', item.id, owner)
    for (const id of new Set(idsIn(entity, item))) state('', id, { tenant, entity, sk: item.sk })
  },
  judge(facts, _, __, broken) {
    const owning = new Set(facts.flatMap((fact) => ('owner' in fact ? [fact.owner] : [])))
    if (owning.size > 1) broken(separate, `it is the id of items of ${[...owning].join(' and ')}`)
    const [owner] = owning
    for (const fact of owner === undefined ? [] : facts)
      if ('tenant' in fact && fact.tenant !== owner)
        broken(separate, `it is of ${owner}, and ${fact.entity}/${fact.sk} of ${fact.tenant} names it`)
  },
}

/** Returns the ids that an item names. The reason of an audit record is a caller's text, and a share names its grantee. */
function idsIn(entity: Entity, item: Item): string[] {
  switch (entity) {
    case 'audit': {
      const { action, target, before, after } = item as unknown as AuditRecord
      const text = action === 'share' ? target : JSON.stringify([target, before, after])
      return text.match(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g) ?? []
    }
    case 'ledger':
    case 'charge_lock':
      return [String(item.refund_id), ...((item.also_held_by ?? []) as string[])]
    case 'code_lock':
      return [String(item.code_id)]
    case 'cart':
      return ((item as unknown as Cart).discounts ?? []).map(({ code_id }) => code_id)
    default:
      return []
  }
}

/** An order that was erased has the audit record of that. */
export const erasurePromise: SharedPromise<{ kind: 'tombstone' | 'audit'; at: string }> = {
  facts(item, state) {
    const { entity, tenant } = typedOwnerOf(item)
    if (entity === 'order' && typeof item.erased_at === 'string')
      state(tenant, `order/${item.sk}`, { kind: 'tombstone', at: item.erased_at })
    if (entity === 'audit' && item.action === 'order.erase')
      state(tenant, String(item.target), { kind: 'audit', at: String(item.at) })
  },
  judge(facts, _, __, broken) {
    if (facts.every(({ kind }) => kind === 'tombstone'))
      broken('outcomes are audited', 'it was erased, and the audit does not say so')
  },
}

/** A known list of the tenants with subscribers names the tenant of each: a relay gives the others no delivery. */
export const subscribedPromise: SharedPromise<Fact> = {
  facts(item, state) {
    const { entity, tenant } = typedOwnerOf(item)
    // Only a registration changes the list.
    if (entity === 'subscriber') state(tenant, `subscriber/${item.sk}`, { at: String(item.created_at) })
  },
  judge(_, { tenant }, { subscribedTenants }, broken) {
    if (subscribedTenants && !subscribedTenants.has(tenant))
      broken('subscribers get their events', 'the list of tenants with subscribers lacks its tenant')
  },
}
