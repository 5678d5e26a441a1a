import { viewOf } from '#shared/codes/code.ts'
import { codeEtag } from '#shared/codes/code-store.ts'
import { updateCode } from '#shared/codes/update-code.ts'
import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { ok } from '#shared/platform/request/reply.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  async perform(request, context) {
    const { params, ifMatch, body } = request
    const update = { id: params.id ?? '', ifMatch, changes: body }
    return updateCode(update, request, context, (code, effects) =>
      ok(viewOf(code, context.settings), { etag: codeEtag(code), ...effects }),
    )
  },
})

export const handler = httpFunction(endpoint)
