import { codeUpdateOf } from '#shared/codes/code-bulk-update.ts'
import { updateCode } from '#shared/codes/update-code.ts'
import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { multiStatus } from '#shared/platform/jobs/bulk-reply.ts'
import { runRows } from '#shared/platform/jobs/run-rows.ts'
import { targetOf } from '#shared/platform/request/audit-denial.ts'
import { defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  async perform(_, { newId }) {
    return { resume: { batch: newId() } }
  },

  async proceed({ batch }, request, context) {
    const { settings, committer, report } = context
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
        onFault: ({ code, cause }) => report('ROW_FAILED', code, cause),
        attemptOf: ({ id }) => ({ action: 'update', target: targetOf('codes', [id]) }),
        resumableSeconds: settings['idempotency.lifetimeHours'] * 3600,
      },
      committer,
    )
    return multiStatus(results, settings)
  },
})

export const handler = httpFunction(endpoint)
