import { Code, makeCode } from '#shared/codes/code.ts'
import { codeCreation } from '#shared/codes/code-store.ts'
import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { created, defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  decide({ body }, { settings, newId, scope, caller, table }) {
    const origin = { id: newId(), tenant: scope.tenant, createdBy: caller?.sub ?? '' }
    const code = makeCode(body, origin, settings)
    return created(Code.viewOf(code), {
      location: `${route.path}/${code.id}`,
      ...codeCreation(code, table),
    })
  },
})

export const handler = httpFunction(endpoint)
