import { cognitoProvider } from '#shared/login/cognito-provider.ts'
import { signIn } from '#shared/login/sign-in.ts'
import { defineEndpoint } from '#shared/platform/http/endpoint.ts'
import { lambda } from '#shared/platform/http/lambda.ts'
import { deploymentSecret } from '#shared/platform/secrets/deployment-secret.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  perform: ({ body }, context) =>
    signIn(body, cognitoProvider(process.env.USER_POOL_CLIENT_ID ?? '', context.settings), context),
})

export const handler = lambda(endpoint, { deploymentSecret })
