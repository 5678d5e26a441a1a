import * as v from 'valibot'
import { fail } from '../platform/base/failure.ts'
import { type CsvRow, readCsv } from '../platform/formats/csv-reader.ts'
import type { RowDecision } from '../platform/jobs/run-rows.ts'
import { invalidFields } from '../platform/request/invalid-fields.ts'
import type { Settings } from '../settings/register.ts'
import { makeCode, NewCode } from './code.ts'
import { newCode } from './code-store.ts'

/**
 * Reads the rows of a file of codes. Columns that only an export has are ignored.
 * @throws VALIDATION.csv.*
 */
export function importedRows(text: string, settings: Settings): CsvRow[] {
  const { columns: required, maxRows } = settings['codes.import']
  const ignored = settings['codes.export'].columns.filter((column) => !required.some((one) => one === column))
  return readCsv(text, { required, ignored, maxRows })
}

/**
 * Decides the code of a row by the rules of POST /codes.
 * @throws the error that POST /codes would return for the row
 */
export function importedCode(
  { cells, problem }: CsvRow,
  made: { id: string; tenant: string; createdBy: string },
  settings: Settings,
): RowDecision {
  if (problem) throw fail(problem.code, { details: { ...problem.details } })
  // Importing an export that includes deleted codes must not restore them.
  if (cells.soft_deleted?.toLowerCase() === 'true') throw fail('CONFLICT.soft_deleted')
  const fields = settings['codes.import'].columns.map((column) => [column, cells[column]])
  const parsed = v.safeParse(NewCode(settings), Object.fromEntries(fields), { abortPipeEarly: true })
  if (!parsed.success) throw invalidFields(parsed.issues, settings)
  const code = makeCode(parsed.output, made, settings)
  return { status: 201, id: code.id, writes: newCode(code) }
}
