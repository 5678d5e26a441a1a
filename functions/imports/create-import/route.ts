import { ImportRequest, importBytes, importTypes } from '#shared/imports/create-import.ts'
import { OperationStatus } from '#shared/operations/operation.ts'
import { defineRoute } from '#shared/platform/request/route.ts'

export const route = defineRoute({
  operation: 'imports.create',
  action: 'import',
  method: 'POST',
  path: '/imports',
  summary: 'Import customers',
  description:
    'Starts the import of a CSV file of customers with a header. The body is the file, or its https URL. The response contains the id of the operation to poll. An invalid row is rejected and does not affect other rows. A file in the body that was imported or is being imported is not imported again: the response contains the first operation and the header Idempotency-Status: replayed. A file_url always gets a new operation; if its file was imported before, the operation ends with the result of that import. A file whose import failed, was canceled or is being canceled is imported again. A tenant that exceeds its limit of operations in progress gets 429 with Retry-After.',
  auth: 'bearer',
  access: 'transfer',
  idempotency: 'accepted',
  body: ImportRequest,
  example: (_, type) =>
    type === 'text/csv'
      ? 'email,name,country\r\njane@example.com,Jane,DE\r\n'
      : { file_url: 'https://example.com/customers.csv' },
  bodyTypes: importTypes,
  bodyBytes: importBytes,
  reply: { status: () => 202, schema: () => OperationStatus, location: true },
  errors: ['VALIDATION.body.encoding', 'VALIDATION.url.private_range'],
  uses: ['imports.write'],
  table: {
    get: ['file_reservation', 'operation', 'operation_count'],
    put: ['file_reservation', 'operation', 'pending-operation'],
    update: ['operation_count'],
  },
  impact: 'No customers can be imported.',
})
