import * as v from 'valibot'
import { queryFlag } from '#shared/platform/request/query-flag.ts'
import { defineRoute } from '#shared/platform/request/route.ts'
import { searchLimitTable } from '#shared/platform/request/search-limit.ts'
import { openPoint } from '#shared/settings/per-settings.ts'

export const route = defineRoute({
  operation: 'codes.export',
  action: 'export',
  method: 'GET',
  path: '/codes:export',
  summary: 'Export discount codes as CSV',
  description:
    'Returns the codes of a tenant as a CSV file, oldest first. If the file is too large for a response, the response redirects to a short-lived link to it. Cells that a spreadsheet would run as formulas are prefixed with an apostrophe; an import removes it. The file is text/csv, also for a request that accepts only application/json.',
  auth: 'bearer',
  access: 'transfer',
  scope: 'codes:read',
  idempotency: 'none',
  query: () => {
    const description = 'Includes soft-deleted codes. Not every role may do this.'
    const flag = queryFlag(description, 'lists.includeDeletedRoles')
    return v.strictObject({ include_deleted: v.exactOptional(flag) })
  },
  reply: {
    status: () => 200,
    others: [303],
    schema: () => v.pipe(v.string(), openPoint('codes.export')),
    mediaType: () => 'text/csv',
    attachment: true,
  },
  errors: ['AUTHZ.filter.denied', 'POLICY.export.row_limit', 'VALIDATION.field.enum'],
  uses: ['files.write', 'files.link'],
  table: { ...searchLimitTable, query: ['code'] },
  impact: 'Discount codes cannot be exported.',
})
