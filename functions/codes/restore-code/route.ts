import * as v from 'valibot'
import { Code } from '#shared/codes/code.ts'
import { defineRoute } from '#shared/platform/request/route.ts'

const NoFields = v.pipe(v.strictObject({}), v.title('NoFields'))

export const route = defineRoute({
  operation: 'codes.restore',
  action: 'restore',
  method: 'POST',
  path: '/codes/{id}:restore',
  summary: 'Restore a discount code',
  description: 'Restores a soft-deleted code.',
  auth: 'bearer',
  access: 'restore',
  scope: 'codes:write',
  idempotency: 'accepted',
  ifMatch: 'accepted',
  body: () => NoFields,
  example: () => ({}),
  reply: { status: () => 200, schema: Code.view, etag: true },
  errors: ['NOT_FOUND.code', 'CONFLICT.etag.mismatch', 'CONFLICT.not_deleted', 'CONFLICT.code.exists'],
  uses: [],
  table: { get: ['code'], find: ['code'], put: ['code', 'code_lock'], delete: ['code_lock'] },
  impact: 'No deleted discount code can be restored.',
})
