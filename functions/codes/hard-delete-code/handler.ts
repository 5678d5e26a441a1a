import { auditOfHardDelete } from '#shared/codes/code-audit.ts'
import { codeEtag, readCode, removedCode } from '#shared/codes/code-store.ts'
import { requireNoHold } from '#shared/holds/legal-hold.ts'
import type { Decision } from '#shared/platform/idempotency/decision.ts'
import { defineEndpoint, noContent } from '#shared/platform/request/endpoint.ts'
import { checkPrecondition } from '#shared/platform/request/parse-headers.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  async decide({ params, precondition, reason = '' }, context) {
    return decide()

    async function decide(): Promise<Decision<undefined>> {
      const code = await readCode(context, params.id ?? '')
      checkPrecondition(precondition, codeEtag(code, context.settings))
      return noContent({
        writes: [...removedCode(code), ...requireNoHold(code.tenant_id, 'code', code.id)],
        audit: { ...auditOfHardDelete(code, await context.derivedKey('codes')), reason },
        onConflict: decide,
      })
    }
  },
})
