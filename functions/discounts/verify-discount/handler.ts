import { verifyDiscount } from '#shared/discounts/verify-discount.ts'
import { defineEndpoint } from '#shared/platform/http/endpoint.ts'
import { lambda } from '#shared/platform/http/lambda.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  async perform({ body, scope, caller, headers }, context) {
    const { settings, committer } = context
    const asked = {
      tenant: scope.tenant,
      caller,
      text: body.code,
      cartId: headers[settings['discount.cart'].header.toLowerCase()],
      correlationId: committer.correlation.id,
    }
    return verifyDiscount(asked, context)
  },
})

export const handler = lambda(endpoint)
