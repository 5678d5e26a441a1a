import { requestCode } from '#shared/otp/request-code.ts'
import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { readSecret } from '#shared/platform/aws/secrets-manager.ts'
import { defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  decide: ({ body }, context) => requestCode(body.email, context),
})

export const handler = httpFunction(endpoint, { secret: readSecret })
