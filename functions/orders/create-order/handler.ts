import { Order, orderPlaced, orderWrites, placeOrder } from '#shared/orders/order.ts'
import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { created, defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  decide({ body }, { settings, newId, scope }) {
    const order = placeOrder(body, newId(), scope.tenant, settings)
    return created(Order.viewOf(order), {
      status: route.reply.status(settings),
      location: `${route.path}/${order.id}`,
      writes: orderWrites(order),
      events: orderPlaced(order, settings),
    })
  },
})

export const handler = httpFunction(endpoint)
