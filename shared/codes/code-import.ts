import * as v from 'valibot'
import type { RowDecision } from '../platform/bulk/run-rows.ts'
import { type CsvRow, readCsv } from '../platform/csv/csv-reader.ts'
import { fail } from '../platform/errors/failure.ts'
import { invalidFields } from '../platform/http/invalid-fields.ts'
import type { Settings } from '../settings/register.ts'
import { makeCode, NewCode } from './code.ts'
import { newCode } from './code-store.ts'

/**
 * The rows of a file of codes. Columns that an export has beyond those of an import are let through.
 * @throws VALIDATION.csv.*
 */
export function importedRows(text: string, settings: Settings): CsvRow[] {
  const { columns: required, maxRows } = settings['codes.import']
  const ignored = settings['codes.export'].columns.filter((column) => !required.some((one) => one === column))
  return readCsv(text, { required, ignored, maxRows })
}

/**
 * The code that a row makes, by the rules of POST /codes.
 * @throws whatever is wrong with the row, as a request of its own would be told
 */
export function importedCode(
  { cells, problem }: CsvRow,
  made: { id: string; tenant: string; createdBy: string },
  settings: Settings,
): RowDecision {
  if (problem) throw fail(problem.code, { details: { ...problem.details } })
  // An export that shows deleted codes must not bring them back to life.
  if (cells.soft_deleted?.toLowerCase() === 'true') throw fail('CONFLICT.soft_deleted')
  const fields = settings['codes.import'].columns.map((column) => [column, cells[column]])
  const parsed = v.safeParse(NewCode(settings), Object.fromEntries(fields), { abortPipeEarly: true })
  if (!parsed.success) throw invalidFields(parsed.issues, settings)
  const code = makeCode(parsed.output, made, settings)
  return { status: 201, id: code.id, writes: newCode(code) }
}
