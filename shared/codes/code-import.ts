import * as v from 'valibot'
import { fail, failField } from '../platform/base/failure.ts'
import { type CsvRow, readCsv } from '../platform/formats/csv-reader.ts'
import { bulkSaga } from '../platform/jobs/bulk-saga.ts'
import type { RowDecision } from '../platform/jobs/run-rows.ts'
import type { RequestContext } from '../platform/request/context.ts'
import { invalidFields } from '../platform/request/invalid-fields.ts'
import { importColumns } from '../settings/import-columns.ts'
import { liveStates } from '../settings/live-states.ts'
import { perSettings } from '../settings/per-settings.ts'
import type { Settings } from '../settings/register.ts'
import { Code, makeCode } from './code.ts'
import { type LiveState, updateTrigger } from './code-states.ts'
import { codeCreation } from './code-store.ts'
import { codeTextOf } from './code-text.ts'

/** A row: the body of POST /codes, and the state of the code. */
const CodeRow = perSettings((settings) =>
  v.strictObject({ ...Code.request(settings).entries, state: v.picklist(liveStates) }),
)

/**
 * Reads the rows of a file of codes. The column `state` is optional. Other columns that only an export has are ignored.
 * @throws VALIDATION.csv.*
 */
function importedRows(text: string, settings: Settings): CsvRow[] {
  const { maxRows } = settings['codes.import']
  const optional = new Set<string>([...settings['codes.export'].columns, 'state'])
  for (const column of importColumns) optional.delete(column)
  return readCsv(text, { required: importColumns, optional: [...optional], maxRows })
}

/**
 * Decides the code of a row by the rules of POST /codes.
 * @throws the error that POST /codes would return for the row, AUTHZ.field.denied, CONFLICT.soft_deleted
 */
function importedCode(
  { cells, problem }: CsvRow,
  context: Pick<RequestContext, 'newId' | 'settings' | 'scope' | 'caller' | 'table'>,
): RowDecision {
  const { newId, settings, scope, caller, table } = context
  if (problem) throw fail(problem.code, { details: { ...problem.details } })
  // Importing an export that includes deleted codes must not restore them.
  if (cells.soft_deleted?.toLowerCase() === 'true' || cells.state === 'soft_deleted')
    throw fail('CONFLICT.soft_deleted')
  const fields = importColumns.map((column) => [column, cells[column]])
  const state = cells.state || settings['codes.initialState']
  const row = { ...Object.fromEntries(fields), state }
  const parsed = v.safeParse(CodeRow(settings), row, { abortPipeEarly: true })
  if (!parsed.success) throw invalidFields(parsed.issues, settings)
  checkState(parsed.output.state, context)
  const origin = { id: newId(), tenant: scope.tenant, createdBy: caller?.sub ?? '' }
  const code = makeCode(parsed.output, origin, settings)
  return { status: 201, id: code.id, ...codeCreation(code, table) }
}

/**
 * Checks that the caller may create a code in a state. If new codes are not active, only an Admin activates them.
 * @throws AUTHZ.field.denied
 */
function checkState(
  state: LiveState,
  { settings, caller }: Pick<RequestContext, 'settings' | 'caller'>,
): void {
  const activates = state === 'active' && settings['codes.initialState'] !== 'active'
  if (activates && updateTrigger(caller?.role) === 'update')
    throw failField('AUTHZ.field.denied', 'state', {
      reason: 'role',
      allowed: ['Admin'],
      actual: 'string',
    })
}

/** The import of codes from CSV: each row creates a code or is rejected. */
export const codeImport = bulkSaga<string, CsvRow>({
  rowsOf: importedRows,
  audit: { action: 'import', target: 'codes' },
  keyOf: ({ cells }) => codeTextOf(cells?.code ?? '') ?? '',
  decide: async (row, context) => importedCode(row, context),
  deniedAction: () => ({ action: 'import', area: 'codes' }),
})
