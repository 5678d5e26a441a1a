import { Order, readOrder } from '#shared/orders/order.ts'
import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { defineEndpoint, ok } from '#shared/platform/request/endpoint.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  async decide({ params }, context) {
    const order = await readOrder(context, params.id ?? '')
    return ok(Order.viewOf(order))
  },
})

export const handler = httpFunction(endpoint)
