import { Code, CodeChanges } from '#shared/codes/code.ts'
import { defineRoute } from '#shared/platform/request/route.ts'

export const route = defineRoute({
  operation: 'codes.update',
  action: 'update',
  method: 'PATCH',
  path: '/codes/{id}',
  summary: 'Update a discount code',
  description:
    'Changes the name or the expiry of a code. If-Match carries the entity tag that the caller has read. Of several updates with the same tag, only the first succeeds.',
  auth: 'bearer',
  access: 'update',
  scope: 'codes:write',
  idempotency: 'accepted',
  ifMatch: 'required',
  body: CodeChanges,
  example: () => ({ name: 'Late summer sale' }),
  reply: { status: () => 200, schema: Code.view, etag: true },
  errors: [
    'NOT_FOUND.code',
    'AUTHZ.field.denied',
    'VALIDATION.if_match.required',
    'VALIDATION.name.length.exceeds',
    'VALIDATION.name.charset',
    'VALIDATION.datetime.timezone_required',
    'VALIDATION.date.range',
    'CONFLICT.soft_deleted',
    {
      code: 'CONFLICT.code.transition',
      when: (settings) => settings['codes.transitions'].length > 0,
    },
    'CONFLICT.etag.mismatch',
  ],
  uses: [],
  table: { get: ['code'], find: ['code'], put: ['code'] },
  impact: 'No discount code can be changed.',
})
