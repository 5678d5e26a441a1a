import { importedCode, importedRows } from '#shared/codes/code-import.ts'
import { codeTextOf } from '#shared/codes/code-text.ts'
import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { multiStatus } from '#shared/platform/jobs/bulk-reply.ts'
import { runRows } from '#shared/platform/jobs/run-rows.ts'
import { defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  async perform({ body, scope }, { settings, newId }) {
    const rows = importedRows(body, settings)
    const audit = { action: 'import', target: 'codes', tenant: scope.tenant, after: { rows: rows.length } }
    return { resume: { batch: newId() }, audit }
  },

  async proceed({ batch }, { body, scope, caller }, context) {
    const { settings, committer, newId, report } = context
    const results = await runRows(
      {
        id: String(batch),
        rows: importedRows(body, settings),
        keyOf: ({ cells }) => codeTextOf(cells?.code ?? '') ?? '',
        decide: async (row) =>
          importedCode(row, { id: newId(), tenant: scope.tenant, createdBy: caller?.sub ?? '' }, settings),
        onFault: ({ code, cause }) => report('ROW_FAILED', code, cause),
        attemptOf: () => ({ action: 'import', target: 'codes' }),
        resumableSeconds: settings['idempotency.lifetimeHours'] * 3600,
      },
      committer,
    )
    return multiStatus(results, settings)
  },
})

export const handler = httpFunction(endpoint)
