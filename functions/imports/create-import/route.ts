import { importBytes, importTypes, NewImport } from '#shared/imports/new-import.ts'
import { OperationStatus } from '#shared/operations/operation.ts'
import { defineRoute } from '#shared/platform/request/route.ts'

export const route = defineRoute({
  operation: 'imports.create',
  action: 'import',
  method: 'POST',
  path: '/imports',
  summary: 'Import customers',
  description:
    'Begins to import a CSV file of customers with a header: the file itself, or the https address where it lies. The answer names the operation to be polled. A row that is wrong is refused by itself. A file that was imported before, or is being imported, is not imported again: the answer names the first operation and says replayed. One whose import failed or was canceled is begun anew. A tenant may have a limited number of operations in progress; one more is 429 with Retry-After.',
  auth: 'bearer',
  access: 'transfer',
  idempotency: 'accepted',
  body: NewImport,
  example: (_, type) =>
    type === 'text/csv'
      ? 'email,name,country\r\njane@example.com,Jane,DE\r\n'
      : { file_url: 'https://example.com/customers.csv' },
  bodyTypes: importTypes,
  bodyBytes: importBytes,
  reply: { status: () => 202, schema: () => OperationStatus, location: true },
  errors: ['VALIDATION.body.encoding', 'VALIDATION.url.private_range'],
  uses: ['table.read', 'table.write', 'table.update', 'imports.write'],
  impact: 'No customers can be imported.',
})
