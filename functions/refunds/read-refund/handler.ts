import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { defineEndpoint, ok } from '#shared/platform/request/endpoint.ts'
import { viewOf } from '#shared/refunds/refund.ts'
import { readRefund } from '#shared/refunds/refund-store.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  async decide({ params }, { settings, table, scope }) {
    const refund = await readRefund(table, scope, params.id ?? '', settings)
    return ok(viewOf(refund, settings))
  },
})

export const handler = httpFunction(endpoint)
