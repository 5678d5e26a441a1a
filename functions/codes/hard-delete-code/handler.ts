import { auditOfChange } from '#shared/codes/code-audit.ts'
import { codeEtag, readCode, removedCode } from '#shared/codes/code-store.ts'
import { defineEndpoint, type PerformOf } from '#shared/platform/request/endpoint.ts'
import { checkIfMatch } from '#shared/platform/request/parse-headers.ts'
import { noContent } from '#shared/platform/request/reply.ts'
import { route } from './route.ts'

const perform: PerformOf<typeof route> = async (request, context) => {
  const { params, scope, ifMatch, reason = '' } = request
  const code = await readCode(context.table, scope, params.id ?? '', context.settings)
  checkIfMatch(ifMatch, codeEtag(code))
  return noContent({
    writes: removedCode(code),
    audit: { ...auditOfChange('hard_delete', code, undefined), reason },
    // The code changed after it was read: decide again.
    onConflict: () => perform(request, context),
  })
}

export const endpoint = defineEndpoint(route, { perform })
