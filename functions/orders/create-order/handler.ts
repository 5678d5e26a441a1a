import { placeOrder, viewOf } from '#shared/orders/order.ts'
import { orderPlaced } from '#shared/orders/order-events.ts'
import { newOrder, orderEtag } from '#shared/orders/order-store.ts'
import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { created } from '#shared/platform/request/reply.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  async perform({ body, scope }, { settings, newId }) {
    const order = placeOrder(body, newId(), scope.tenant, settings)
    return created(viewOf(order, settings), {
      status: route.reply.status(settings),
      etag: orderEtag(order),
      location: `${route.path}/${order.id}`,
      writes: [newOrder(order)],
      events: orderPlaced(order),
    })
  },
})

export const handler = httpFunction(endpoint)
