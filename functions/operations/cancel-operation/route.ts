import * as v from 'valibot'
import { OperationView } from '#shared/operations/operation.ts'
import { defineRoute } from '#shared/platform/request/route.ts'

const NoFields = v.pipe(v.strictObject({}), v.title('NoFields'))

export const route = defineRoute({
  operation: 'operations.cancel',
  action: 'cancel',
  method: 'POST',
  path: (settings) => `/operations/{operation_id}:${settings['operations.cancel'].verb}`,
  summary: 'Cancel an operation',
  description:
    'Stops an operation after its work in progress. The operation ends as canceled, with the counts of its completed work. Canceling an ended operation, or canceling twice, changes nothing and succeeds, whatever If-Match says.',
  auth: 'bearer',
  access: 'transfer',
  idempotency: 'accepted',
  ifMatch: 'accepted',
  body: () => NoFields,
  example: () => ({}),
  reply: {
    status: (settings) => settings['operations.cancel'].status,
    schema: OperationView,
    retryAfter: true,
  },
  errors: ['NOT_FOUND.operation', 'CONFLICT.etag.mismatch'],
  uses: [],
  table: {
    get: ['operation', 'operation_count'],
    find: ['operation'],
    update: ['operation', 'operation_count'],
    delete: ['pending-operation'],
  },
  impact: 'No import can be canceled.',
})
