import { verifyDiscount } from '#shared/discounts/verify-discount.ts'
import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { defineEndpoint } from '#shared/platform/request/endpoint.ts'
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

export const handler = httpFunction(endpoint)
