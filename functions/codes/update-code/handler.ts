import { Code } from '#shared/codes/code.ts'
import { updateCode } from '#shared/codes/update-code.ts'
import { defineEndpoint, ok } from '#shared/platform/request/endpoint.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  decide: ({ params, precondition, body }, context) =>
    updateCode({ id: params.id ?? '', precondition, changes: body }, context, (code) =>
      ok(Code.viewOf(code)),
    ),
})
