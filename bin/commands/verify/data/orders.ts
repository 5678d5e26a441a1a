import { asOrder, cartEntryKey, orderOfEntry } from '#shared/orders/order.ts'
import { madeAt, type SharedPromise, typedOwnerOf } from './promise.ts'

type OrderFact =
  /** The entry of its cart; undefined for a tombstone. */
  { kind: 'order'; entry: string | undefined; at?: string } | { kind: 'entry'; key: string; at?: string }

/** Each order has the entry by which its cart finds it, and each entry its order. */
export const orderPromise: SharedPromise<OrderFact> = {
  facts(item, state) {
    const { entity, tenant } = typedOwnerOf(item)
    if (entity === 'order_cart') {
      const id = orderOfEntry(item)
      state(tenant, `order/${id}`, { kind: 'entry', key: item.sk, ...madeAt(id) })
    }
    if (entity !== 'order') return
    const order = asOrder(item)
    const isErased = item.erased_at !== undefined
    const at = isErased ? String(item.erased_at) : order.updated_at
    const entry = isErased ? undefined : cartEntryKey(order).sk
    state(tenant, `order/${item.sk}`, { kind: 'order', entry, at })
  },

  judge(facts, _, _judging, broken) {
    const entries = facts.flatMap((fact) => (fact.kind === 'entry' ? [fact.key] : []))
    const entry = facts.find((fact) => fact.kind === 'order')?.entry
    if (entry !== undefined && !entries.includes(entry))
      broken('a cart finds its orders', 'no entry of its cart names it')
    if (entries.some((one) => one !== entry))
      broken('a cart finds its orders', 'the entry of a cart names it, and it is not in that cart')
  },
}
