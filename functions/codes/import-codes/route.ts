import * as v from 'valibot'
import { BulkView } from '#shared/platform/jobs/bulk-saga.ts'
import { defineRoute } from '#shared/platform/request/route.ts'
import { importColumns } from '#shared/settings/import-columns.ts'
import { openPoint, perSettings } from '#shared/settings/per-settings.ts'

export const route = defineRoute({
  operation: 'codes.import',
  action: 'import',
  method: 'POST',
  path: (settings) => settings['codes.import'].path,
  summary: 'Import discount codes from CSV',
  description:
    'Creates a code for each row of a CSV file with a header and returns one result per row. A row that fails does not affect other rows. Exported files can be imported: a code keeps its state, a soft-deleted one is rejected, and the other additional columns are ignored. After a failure, a retry with the same Idempotency-Key continues with the remaining rows.',
  auth: 'bearer',
  access: 'transfer',
  scope: 'codes:write',
  idempotency: 'accepted',
  body: perSettings(() => {
    const columns = importColumns.join(', ')
    const rows = `CSV in UTF-8, separated by commas; a byte order mark is optional. A header, then one row per code. Required columns: ${columns}. The column state is optional.`
    return v.pipe(v.string(), v.description(rows), openPoint('codes.import'))
  }),
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
  uses: [],
  table: { get: ['code'], query: ['batch'], put: ['batch', 'code', 'code_lock'] },
  impact: 'No discount codes can be imported.',
})
