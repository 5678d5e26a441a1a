import { cognitoProvider } from '#shared/login/cognito-provider.ts'
import { signIn } from '#shared/login/sign-in.ts'
import { defineEndpoint } from '#shared/platform/http/endpoint.ts'
import { lambda } from '#shared/platform/http/lambda.ts'
import { deploymentSecret } from '#shared/platform/secrets/deployment-secret.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  perform: ({ body }, context) => {
    const { USER_POOL_ID: userPoolId = '', USER_POOL_CLIENT_ID: clientId = '' } = process.env
    return signIn(body, cognitoProvider({ userPoolId, clientId }, context.settings), context)
  },
})

export const handler = lambda(endpoint, { deploymentSecret })
