import { askForReset } from '#shared/login/password-reset.ts'
import { defineEndpoint } from '#shared/platform/http/endpoint.ts'
import { lambda } from '#shared/platform/http/lambda.ts'
import { deploymentSecret } from '#shared/platform/secrets/deployment-secret.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  perform: ({ body }, context) => askForReset(body.email, context),
})

export const handler = lambda(endpoint, { deploymentSecret })
