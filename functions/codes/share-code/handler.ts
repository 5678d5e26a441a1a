import { Code } from '#shared/codes/code.ts'
import { auditOfCode } from '#shared/codes/code-audit.ts'
import { mayStart } from '#shared/codes/code-states.ts'
import { codeEtag, readCode } from '#shared/codes/code-store.ts'
import { fail } from '#shared/platform/base/failure.ts'
import { mayShareWith } from '#shared/platform/identity/authorize.ts'
import { defineEndpoint, noContent, ok } from '#shared/platform/request/endpoint.ts'
import { checkPrecondition } from '#shared/platform/request/parse-headers.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  async decide({ params, body, precondition }, context) {
    const { settings, caller } = context
    const { grantee_tenant } = body
    const code = await readCode(context, params.id ?? '')
    // 403, not 404: the caller sent the grantee, so there is nothing to hide.
    if (!caller || !mayShareWith(caller, grantee_tenant, settings)) {
      throw fail('AUTHZ.scope.tenant', { http: 403 })
    }
    if (!mayStart('share', code.state, settings)) throw fail('CONFLICT.soft_deleted')
    checkPrecondition(precondition, codeEtag(code, settings))
    const { status, body: shown } = settings['codes.share']
    const effects = { audit: { ...auditOfCode('share', code), after: { grantee_tenant } } }
    return shown === 'code'
      ? ok(Code.viewOf(code), { status, ...effects })
      : noContent({ status, ...effects })
  },
})
