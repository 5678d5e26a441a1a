import { Code, type CodeChanges, type CodeView } from '#shared/codes/code.ts'
import { updateCode } from '#shared/codes/update-code.ts'
import type { Decision } from '#shared/platform/idempotency/decision.ts'
import type { RequestContext } from '#shared/platform/request/context.ts'
import { defineEndpoint, type Input, ok } from '#shared/platform/request/endpoint.ts'
import { route } from './route.ts'

export function decide(input: Input<CodeChanges>, context: RequestContext): Promise<Decision<CodeView>> {
  const { params, precondition, body } = input
  return updateCode({ id: params.id ?? '', precondition, changes: body }, context, (code) =>
    ok(Code.viewOf(code)),
  )
}

export const endpoint = defineEndpoint(route, { decide })
