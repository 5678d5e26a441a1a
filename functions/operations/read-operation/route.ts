import { OperationView } from '#shared/operations/operation.ts'
import { defineRoute } from '#shared/platform/request/route.ts'

export const route = defineRoute({
  operation: 'operations.read',
  method: 'GET',
  path: '/operations/{operation_id}',
  summary: 'Read an operation',
  description:
    'Returns the progress of an operation. An ended import has a result with its counts, its first rejected rows and a link to all of them, or the error that ended it. Retry-After states when to poll again.',
  auth: 'bearer',
  access: 'read',
  idempotency: 'none',
  reply: { status: () => 200, schema: OperationView, etag: true, retryAfter: true },
  errors: ['NOT_FOUND.operation'],
  uses: ['rejects.read'],
  table: { get: ['operation'], find: ['operation'] },
  impact: 'The progress and the result of imports cannot be read.',
})
