import { codeUpdateOf } from '#shared/codes/code-bulk-update.ts'
import { updateCode } from '#shared/codes/update-code.ts'
import { multiStatus } from '#shared/platform/bulk/bulk-reply.ts'
import { runRows } from '#shared/platform/bulk/run-rows.ts'
import { targetOf } from '#shared/platform/http/denied-attempt.ts'
import { defineEndpoint } from '#shared/platform/http/endpoint.ts'
import { lambda } from '#shared/platform/http/lambda.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  async perform(_, { newId }) {
    return { resume: { batch: newId() } }
  },

  async proceed({ batch }, request, context) {
    const { settings, committer, notice } = context
    const results = await runRows(
      {
        id: String(batch),
        rows: request.body.items,
        keyOf: ({ id }) => (typeof id === 'string' ? id : ''),
        decide: async (item) =>
          updateCode(codeUpdateOf(item, settings), request, context, ({ id }, effects) => ({
            status: 200,
            id,
            ...effects,
          })),
        onFault: ({ code, cause }) => notice('ROW_FAILED', code, cause),
        attemptOf: ({ id }) => ({ action: 'update', target: targetOf('codes', [id]) }),
        resumableSeconds: settings['idempotency.lifetimeHours'] * 3600,
      },
      committer,
    )
    return multiStatus(results, settings)
  },
})

export const handler = lambda(endpoint)
