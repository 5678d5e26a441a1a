import { cognitoProvider } from '#shared/login/cognito-provider.ts'
import { signIn } from '#shared/login/sign-in.ts'
import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { deploymentSecret } from '#shared/platform/aws/secrets-manager.ts'
import { defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  perform: ({ body }, context) => {
    const { USER_POOL_ID: userPoolId = '', USER_POOL_CLIENT_ID: clientId = '' } = process.env
    return signIn(body, cognitoProvider({ userPoolId, clientId }, context.settings), context)
  },
})

export const handler = httpFunction(endpoint, { deploymentSecret })
