import { Code } from '#shared/codes/code.ts'
import { defineRoute } from '#shared/platform/request/route.ts'

export const route = defineRoute({
  operation: 'codes.read',
  method: 'GET',
  path: '/codes/{id}',
  summary: 'Read a discount code',
  description:
    'Returns one code with its entity tag. A code of another tenant gets the same response as one that does not exist.',
  auth: 'bearer',
  access: 'read',
  scope: 'codes:read',
  idempotency: 'none',
  reply: { status: () => 200, schema: Code.view, etag: true },
  errors: ['NOT_FOUND.code'],
  uses: [],
  table: { get: ['code'], find: ['code'] },
  impact: 'No discount code can be read by its id.',
})
