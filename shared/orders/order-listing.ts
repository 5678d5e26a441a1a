import { parseListQuery, type RouteListing } from '../platform/listing/list-query.ts'
import { cartName, orderOfEntry } from './order.ts'

/** The filters and search fields of orders. */
export const orderListing: RouteListing = {
  parse: parseListQuery,
  entity: 'order',
  fields: {
    id: 'string',
    cart_id: 'string',
    currency: 'string',
    status: 'string',
    amount_minor: 'integer',
    created_at: 'date-time',
    updated_at: 'date-time',
  },
  allowed: (settings) => ({
    status: settings['orders.statuses'].all,
    currency: settings['orders.currencies'],
  }),
  search: (settings) => settings['lists.searchFields'].orders,
  finds: { cart_id: { entity: 'order_cart', nameOf: cartName, idOf: orderOfEntry } },
}
