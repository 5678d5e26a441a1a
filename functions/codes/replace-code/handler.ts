import { Code, changesBy } from '#shared/codes/code.ts'
import { updateCode } from '#shared/codes/update-code.ts'
import { defineEndpoint, ok } from '#shared/platform/request/endpoint.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  decide({ params, precondition, body }, context) {
    const changes = (code: Code) => changesBy(body, code, context.settings)
    return updateCode({ id: params.id ?? '', precondition, changes }, context, (code) =>
      ok(Code.viewOf(code)),
    )
  },
})
