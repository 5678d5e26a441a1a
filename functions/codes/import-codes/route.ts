import * as v from 'valibot'
import { BulkView } from '#shared/platform/jobs/bulk-saga.ts'
import { defineRoute } from '#shared/platform/request/route.ts'

export const route = defineRoute({
  operation: 'codes.import',
  action: 'import',
  method: 'POST',
  path: (settings) => settings['codes.import'].path,
  summary: 'Import discount codes from CSV',
  description:
    'Creates a code for each row of a CSV file with a header, each row on its own: the answer says of every row what became of it. A file that was exported can be imported; its further columns are passed over. Sent again with the same key after a failure, the import goes on where it stood.',
  auth: 'bearer',
  access: 'transfer',
  scope: 'codes:write',
  idempotency: 'accepted',
  body: () => v.string(),
  example: (settings) =>
    `code,type,name,expiry_at\r\nWINTER-10,${Object.keys(settings['codes.types'])[0]},Winter sale,2099-01-01T00:00:00Z\r\n`,
  bodyTypes: () => ['text/csv'],
  bodyBytes: (settings) => settings['codes.import'].maxBytes,
  reply: { status: () => 207, schema: BulkView },
  errors: [
    'VALIDATION.body.encoding',
    'VALIDATION.csv.header',
    'VALIDATION.csv.malformed',
    'VALIDATION.csv.too_many_rows',
  ],
  uses: ['table.read', 'table.write'],
  impact: 'No discount codes can be imported.',
})
