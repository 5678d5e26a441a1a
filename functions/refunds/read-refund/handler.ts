import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { defineEndpoint, ok } from '#shared/platform/request/endpoint.ts'
import { Refund } from '#shared/refunds/refund.ts'
import { readRefund } from '#shared/refunds/refund-store.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  async decide({ params }, context) {
    const refund = await readRefund(context, params.id ?? '')
    return ok(Refund.viewOf(refund))
  },
})

export const handler = httpFunction(endpoint)
