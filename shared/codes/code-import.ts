import * as v from 'valibot'
import { fail } from '../platform/base/failure.ts'
import { type CsvRow, readCsv } from '../platform/formats/csv-reader.ts'
import { bulkSaga } from '../platform/jobs/bulk-saga.ts'
import type { RowDecision } from '../platform/jobs/run-rows.ts'
import { invalidFields } from '../platform/request/invalid-fields.ts'
import type { Settings } from '../settings/register.ts'
import { makeCode, NewCode } from './code.ts'
import { newCode } from './code-store.ts'
import { codeTextOf } from './code-text.ts'

/**
 * Reads the rows of a file of codes. Columns that only an export has are ignored.
 * @throws VALIDATION.csv.*
 */
function importedRows(text: string, settings: Settings): CsvRow[] {
  const { columns: required, maxRows } = settings['codes.import']
  const ignored = settings['codes.export'].columns.filter((column) => !required.some((one) => one === column))
  return readCsv(text, { required, ignored, maxRows })
}

/**
 * Decides the code of a row by the rules of POST /codes.
 * @throws the error that POST /codes would return for the row
 */
function importedCode(
  { cells, problem }: CsvRow,
  origin: { id: string; tenant: string; createdBy: string },
  settings: Settings,
): RowDecision {
  if (problem) throw fail(problem.code, { details: { ...problem.details } })
  // Importing an export that includes deleted codes must not restore them.
  if (cells.soft_deleted?.toLowerCase() === 'true') throw fail('CONFLICT.soft_deleted')
  const fields = settings['codes.import'].columns.map((column) => [column, cells[column]])
  const parsed = v.safeParse(NewCode(settings), Object.fromEntries(fields), { abortPipeEarly: true })
  if (!parsed.success) throw invalidFields(parsed.issues, settings)
  const code = makeCode(parsed.output, origin, settings)
  return { status: 201, id: code.id, writes: newCode(code) }
}

/** The import of codes from CSV: each row creates a code or is rejected. */
export const codeImport = bulkSaga<string, CsvRow>({
  rowsOf: importedRows,
  audit: { action: 'import', target: 'codes' },
  keyOf: ({ cells }) => codeTextOf(cells?.code ?? '') ?? '',
  decide: async (row, { newId, settings, scope, caller }) =>
    importedCode(row, { id: newId(), tenant: scope.tenant, createdBy: caller?.sub ?? '' }, settings),
  attemptOf: () => ({ action: 'import', target: 'codes' }),
})
