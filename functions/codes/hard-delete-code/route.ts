import * as v from 'valibot'
import { queryFlag } from '#shared/platform/request/query-flag.ts'
import { defineRoute } from '#shared/platform/request/route.ts'

export const route = defineRoute({
  operation: 'codes.hard-delete',
  action: 'hard_delete',
  method: 'DELETE',
  path: '/codes/{id}',
  when: 'force',
  summary: 'Delete a discount code permanently',
  description:
    'Applies to force=true. Only the audit record remains, and the text of the code can be used again.',
  auth: 'bearer',
  access: 'hard_delete',
  scope: 'codes:write',
  idempotency: 'accepted',
  ifMatch: 'accepted',
  reason: (settings) => settings['codes.hardDeleteReason'],
  query: () => v.strictObject({ force: queryFlag() }),
  reply: { status: () => 204, schema: () => v.undefined() },
  errors: ['NOT_FOUND.code', 'CONFLICT.etag.mismatch', 'VALIDATION.reason.required', 'POLICY.legal_hold'],
  uses: ['secret.codes'],
  table: { get: ['code'], find: ['code'], delete: ['code', 'code_lock'], check: ['legal_hold'] },
  impact: 'No discount code can be deleted permanently.',
})
