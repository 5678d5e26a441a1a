import { Code } from '#shared/codes/code.ts'
import { readCode } from '#shared/codes/code-store.ts'
import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { fail } from '#shared/platform/base/failure.ts'
import { defineEndpoint, ok } from '#shared/platform/request/endpoint.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  async decide({ params }, context) {
    const { settings } = context
    const code = await readCode(context, params.id ?? '')
    if (code.soft_deleted && settings['codes.readOfSoftDeleted'] === 404) throw fail('NOT_FOUND.code')
    return ok(Code.viewOf(code))
  },
})

export const handler = httpFunction(endpoint)
