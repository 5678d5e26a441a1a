import { viewOf } from '#shared/codes/code.ts'
import { codeEtag } from '#shared/codes/code-store.ts'
import { updateCode } from '#shared/codes/update-code.ts'
import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { defineEndpoint, ok } from '#shared/platform/request/endpoint.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  decide({ params, ifMatch, body }, context) {
    return updateCode({ id: params.id ?? '', ifMatch, changes: body }, context, (code) =>
      ok(viewOf(code, context.settings), { etag: codeEtag(code) }),
    )
  },
})

export const handler = httpFunction(endpoint)
