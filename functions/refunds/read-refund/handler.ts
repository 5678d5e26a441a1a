import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { defineEndpoint, ok } from '#shared/platform/request/endpoint.ts'
import { viewOf } from '#shared/refunds/refund.ts'
import { readRefund } from '#shared/refunds/refund-store.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  async decide({ params }, context) {
    const { settings } = context
    const refund = await readRefund(context, params.id ?? '')
    return ok(viewOf(refund, settings))
  },
})

export const handler = httpFunction(endpoint)
