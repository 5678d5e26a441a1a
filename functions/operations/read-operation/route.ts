import { OperationView } from '#shared/operations/operation.ts'
import { defineRoute } from '#shared/platform/request/route.ts'

export const route = defineRoute({
  operation: 'operations.read',
  method: 'GET',
  path: '/operations/{operation_id}',
  summary: 'Read an operation',
  description:
    'Tells how far an operation is and, once it is over, what it came to: the result of an import with its counts, the first rows that were refused and a link to all of them, or the error that ended it. Retry-After says when to ask again.',
  auth: 'bearer',
  access: 'read',
  idempotency: 'none',
  reply: { status: () => 200, schema: OperationView, etag: true },
  errors: ['NOT_FOUND.operation'],
  uses: ['table.read', 'table.find', 'table.write', 'rejects.read'],
  impact: 'Nobody learns what became of an import.',
})
