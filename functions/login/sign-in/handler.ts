import { deployedIdentityProvider } from '#shared/login/cognito-provider.ts'
import { signIn } from '#shared/login/sign-in.ts'
import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { readSecret } from '#shared/platform/aws/secrets-manager.ts'
import { defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  decide: ({ body }, context) => signIn(body, deployedIdentityProvider(context), context),
})

export const handler = httpFunction(endpoint, { secret: readSecret })
