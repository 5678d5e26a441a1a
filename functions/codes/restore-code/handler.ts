import { Code, type CodeView, restoreCode } from '#shared/codes/code.ts'
import { auditOfChange } from '#shared/codes/code-audit.ts'
import { mayStart } from '#shared/codes/code-states.ts'
import { changedCode, codeEtag, readCode, restoreLock, textTaken } from '#shared/codes/code-store.ts'
import { fail } from '#shared/platform/base/failure.ts'
import type { Decision } from '#shared/platform/idempotency/decision.ts'
import { defineEndpoint, ok } from '#shared/platform/request/endpoint.ts'
import { checkPrecondition } from '#shared/platform/request/parse-headers.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  async decide({ params, precondition }, context) {
    const { settings, now, table } = context
    return decide()

    async function decide(): Promise<Decision<CodeView>> {
      const code = await readCode(context, params.id ?? '')
      if (!mayStart('restore', code.state, settings)) {
        if (settings['codes.restoreOfLive'] === 409) throw fail('CONFLICT.not_deleted')
        return ok(Code.viewOf(code))
      }
      checkPrecondition(precondition, codeEtag(code, settings))
      const after = restoreCode(code, settings, now())
      return ok(Code.viewOf(after), {
        writes: [changedCode(code, after, 'restore', settings), ...restoreLock(code, after)],
        audit: auditOfChange('restore', code, after),
        async onConflict(existing) {
          // Another code now has the same text, so a retry cannot succeed.
          if (existing?.code_id !== undefined && existing.code_id !== code.id) {
            throw await textTaken(existing, code.tenant_id, table)
          }
          return decide()
        },
      })
    }
  },
})
