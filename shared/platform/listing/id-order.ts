import { partitionsOf } from '../table/keys.ts'
import { capped, idRange } from './id-range.ts'
import { type Bounds, beside, larger, smaller } from './ids.ts'
import { readMerged } from './merged-read.ts'
import type { Order, TenantList } from './order.ts'
import { idsOf } from './read-index.ts'

/** Returns the order by created_at, which is the time in the id: the sort key of an item is its id. */
export async function idOrder(list: TenantList): Promise<Order> {
  const { table, query } = list
  const ids = idRange(query.filters)
  // These bounds limit the reads, not the session: they change with the stored items.
  const known = await idsByIndex(list)
  return {
    whole: (horizon) => capped(ids, horizon),
    beside,
    async read({ low, high, ...rest }) {
      const range = { ...rest, low: larger(low, known?.low ?? low), high: smaller(high, known?.high ?? high) }
      const { items, exhausted } = await readMerged(table, partitionsOfList(list), range)
      return { entries: items.map((item) => ({ place: item.sk, item })), exhausted }
    },
    // In a descending session, the first key is the newest.
    newest: async (first) => (query.descending ? first : newestId(list)),
    narrows: ({ field, operator }) => field === 'created_at' && operator !== 'in',
  }
}

/** Returns the largest id in the range of the filters on created_at and id. */
export async function newestId(list: TenantList): Promise<string | undefined> {
  const range = { ...idRange(list.query.filters), descending: true, limit: 1 }
  const { items } = await readMerged(list.table, partitionsOfList(list), range)
  return items[0]?.sk
}

/** Returns the id range of a filter on an indexed value, if there is one. */
async function idsByIndex(list: TenantList): Promise<Bounds | undefined> {
  for (const { field, operator, values } of list.query.filters) {
    const index = list.listing.orders?.[field]
    if (index && operator === 'eq') return idsOf(list, index, String(values[0]))
  }
  return undefined
}

function partitionsOfList({ tenant, listing, shards }: TenantList): string[] {
  return partitionsOf(tenant, listing.entity, shards)
}
