import * as v from 'valibot'
import { queryFlag } from '#shared/platform/request/query-flag.ts'
import { defineRoute } from '#shared/platform/request/route.ts'

export const route = defineRoute({
  operation: 'codes.soft-delete',
  action: 'soft_delete',
  method: 'DELETE',
  path: '/codes/{id}',
  summary: 'Soft-delete a discount code',
  description:
    'Soft-deletes a code: it disappears from lists and can be restored. Deleting it again changes nothing and returns the same response.',
  auth: 'bearer',
  access: 'soft_delete',
  scope: 'codes:write',
  idempotency: 'accepted',
  ifMatch: 'accepted',
  query: () => {
    const description = 'true deletes the code permanently; false, or nothing, soft-deletes it.'
    return v.strictObject({ force: v.exactOptional(queryFlag(description)) })
  },
  reply: { status: () => 204, schema: () => v.undefined() },
  errors: ['NOT_FOUND.code', 'CONFLICT.etag.mismatch', 'VALIDATION.field.enum'],
  uses: [],
  table: {
    get: ['code'],
    find: ['code'],
    put: ['code', 'code_lock'],
    update: ['code'],
    delete: ['code_lock'],
  },
  impact: 'No discount code can be deleted.',
})
