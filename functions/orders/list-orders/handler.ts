import { viewOf } from '#shared/orders/order.ts'
import { asOrder } from '#shared/orders/order-store.ts'
import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { deploymentSecret } from '#shared/platform/aws/secrets-manager.ts'
import { defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { listReply } from '#shared/platform/request/list-reply.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  async perform(request, context) {
    return listReply(route, request, context, (item) => viewOf(asOrder(item), context.settings))
  },
})

export const handler = httpFunction(endpoint, { deploymentSecret })
