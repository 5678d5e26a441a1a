import { verifyDiscount } from '#shared/discounts/verify-discount.ts'
import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { readSecret } from '#shared/platform/aws/secrets-manager.ts'
import { defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  decide({ body, headers }, context) {
    const cartId = headers[context.settings['discount.cart'].header]
    return verifyDiscount({ text: body.code, cartId }, context)
  },
})

export const handler = httpFunction(endpoint, { secret: readSecret })
