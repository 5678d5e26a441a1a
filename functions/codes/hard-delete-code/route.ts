import * as v from 'valibot'
import { defineRoute } from '#shared/platform/request/route.ts'

export const route = defineRoute({
  operation: 'codes.hard-delete',
  action: 'hard_delete',
  method: 'DELETE',
  path: '/codes/{id}',
  when: { parameter: 'force', value: 'true' },
  summary: 'Delete a discount code for good',
  description:
    'Nothing but the audit record is left of the code, and its text is free again. A header carries the reason for the audit.',
  auth: 'bearer',
  access: 'hard_delete',
  scope: 'codes:write',
  idempotency: 'accepted',
  ifMatch: 'accepted',
  reason: (settings) => settings['codes.hardDeleteReason'],
  query: () => v.strictObject({ force: v.literal('true') }),
  reply: { status: () => 204, schema: () => v.undefined() },
  errors: ['NOT_FOUND.code', 'CONFLICT.etag.mismatch', 'VALIDATION.reason.required'],
  uses: ['table.read', 'table.find', 'table.write', 'table.delete'],
  impact: 'No discount code can be removed for good.',
})
