import { viewOf } from '#shared/orders/order.ts'
import { asOrder } from '#shared/orders/order-store.ts'
import { defineEndpoint } from '#shared/platform/http/endpoint.ts'
import { lambda } from '#shared/platform/http/lambda.ts'
import { listReply } from '#shared/platform/listing/list-reply.ts'
import { deploymentSecret } from '#shared/platform/secrets/deployment-secret.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  async perform(request, context) {
    return listReply(route, request, context, (item) => viewOf(asOrder(item), context.settings))
  },
})

export const handler = lambda(endpoint, { deploymentSecret })
