import { readOrder, viewOf } from '#shared/orders/order.ts'
import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { defineEndpoint, ok } from '#shared/platform/request/endpoint.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  async decide({ params }, { settings, table, scope }) {
    const order = await readOrder(table, scope, params.id ?? '', settings)
    return ok(viewOf(order, settings))
  },
})

export const handler = httpFunction(endpoint)
