import { Code } from '#shared/codes/code.ts'
import { asCode } from '#shared/codes/code-store.ts'
import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { readSecret } from '#shared/platform/aws/secrets-manager.ts'
import { defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { listDecision } from '#shared/platform/request/list-decision.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  decide(input, context) {
    return listDecision(route, input, context, { resource: Code, stored: asCode })
  },
})

export const handler = httpFunction(endpoint, { secret: readSecret })
