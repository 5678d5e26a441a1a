import { viewOf } from '#shared/orders/order.ts'
import { orderEtag, readOrder } from '#shared/orders/order-store.ts'
import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { ok } from '#shared/platform/request/reply.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  async perform({ params, scope }, { settings, table }) {
    const order = await readOrder(table, scope, params.id ?? '', settings)
    return ok(viewOf(order, settings), { etag: orderEtag(order) })
  },
})

export const handler = httpFunction(endpoint)
