import { viewOf } from '#shared/codes/code.ts'
import { asCode } from '#shared/codes/code-store.ts'
import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { deploymentSecret } from '#shared/platform/aws/secrets-manager.ts'
import { defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { listReply } from '#shared/platform/request/list-reply.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  async perform(request, context) {
    return listReply(route, request, context, (item) => viewOf(asCode(item), context.settings))
  },
})

export const handler = httpFunction(endpoint, { deploymentSecret })
