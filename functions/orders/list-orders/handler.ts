import { asOrder, Order } from '#shared/orders/order.ts'
import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { readSecret } from '#shared/platform/aws/secrets-manager.ts'
import { defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { listDecision } from '#shared/platform/request/list-decision.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  decide(input, context) {
    return listDecision(route, input, context, { resource: Order, stored: asOrder })
  },
})

export const handler = httpFunction(endpoint, { secret: readSecret })
