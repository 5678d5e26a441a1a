import { auditOfChange } from '#shared/codes/code-audit.ts'
import { readCode, removedCode } from '#shared/codes/code-store.ts'
import { defineEndpoint, type PerformOf } from '#shared/platform/http/endpoint.ts'
import { noContent } from '#shared/platform/http/reply.ts'
import { route } from './route.ts'

const perform: PerformOf<typeof route> = async (request, context) => {
  const { params, scope, reason = '' } = request
  const code = await readCode(context.table, scope, params.id ?? '', context.settings)
  return noContent({
    writes: removedCode(code),
    audit: { ...auditOfChange('hard_delete', code, undefined), reason },
    // Somebody changed it in between: it goes all the same.
    refused: () => perform(request, context),
  })
}

export const endpoint = defineEndpoint(route, { perform })
