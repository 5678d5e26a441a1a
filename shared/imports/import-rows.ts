import { readCustomer } from '../customers/customer.ts'
import { customerWriter, type ImportedCustomer } from '../customers/customer-store.ts'
import type { Operation, Reject } from '../operations/operation.ts'
import { mayMove } from '../operations/operation-states.ts'
import { findOperation, type OperationRef, transition } from '../operations/operation-store.ts'
import { readLines } from '../platform/formats/csv-reader.ts'
import type { StepContext } from '../platform/jobs/workflow.ts'
import type { Change, Table } from '../platform/table/table.ts'
import type { Settings } from '../settings/register.ts'
import { type ChunkRow, chunkRows } from './chunk-rows.ts'
import { type Chunk, chunkKey, chunkRejectsKey, fileKey } from './import-files.ts'
import { takeTurn } from './pace.ts'
import { rejectLines } from './reject-file.ts'

/** The workflow's input for each chunk. */
type ChunkRef = OperationRef & { chunk: Chunk }

/** Rows that are written in one turn, with the number of the first. */
interface Turn {
  rows: ChunkRow[]
  row: number
  /** The write units of their items, about. */
  units: number
}

/** A turn ends with the row that reaches this number. */
const unitsOfTurn = 200
/** The bytes of a customer's item in addition to those of its row, about. */
const itemBytes = 300
const bytesOfUnit = 1024

/**
 * Imports the rows of one chunk. A bad row becomes a reject and affects no other row. One transaction counts the
 * chunk and records it as done, so a repeated run changes nothing. No chunk starts once the operation has ended or is
 * to be canceled.
 */
export async function importRows(ref: ChunkRef, context: StepContext): Promise<void> {
  const { table, files, settings } = context
  const { chunk } = ref
  const operation = await findOperation(table, ref)
  if (!operation || !mayMove('count', operation.state) || operation.cancel_requested === 'yes') return
  if (await table.get(chunkKey(operation.id, chunk.index))) return
  const { id, tenant_id: tenant, schema_version: schemaVersion, columns } = operation
  const write = customerWriter({ tenant, operationId: id, schemaVersion }, table)
  const rejects: Reject[] = []
  let succeeded = 0
  const { from, to } = chunk
  // All rows are read before the first is written: the file's host would not wait for the turns.
  const rows: ChunkRow[] = []
  for await (const row of chunkRows(files.read(fileKey(id), { from, to }))) rows.push(row)
  for (const turn of turnsOf(rows, chunk.row)) {
    const read = readRows(turn, columns, settings)
    rejects.push(...read.rejects)
    succeeded += read.customers.length
    if (read.customers.length === 0) continue
    await takeTurn(turn.units, context)
    await write(read.customers)
  }
  if (rejects.length > 0) {
    await files.write(chunkRejectsKey(id, chunk.index), rejectLines(rejects), 'text/csv')
  }
  await count(operation, chunk, { succeeded, failed: rejects.length }, context)
}

function* turnsOf(rows: readonly ChunkRow[], first: number): Generator<Turn> {
  let turn: Turn = { rows: [], row: first, units: 0 }
  for (const row of rows) {
    turn.rows.push(row)
    if (row.text !== undefined) turn.units += Math.ceil((row.bytes + itemBytes) / bytesOfUnit)
    if (turn.units < unitsOfTurn) continue
    yield turn
    turn = { rows: [], row: turn.row + turn.rows.length, units: 0 }
  }
  if (turn.rows.length > 0) yield turn
}

function readRows(
  { rows, row: first }: Turn,
  columns: readonly string[],
  settings: Settings,
): { customers: ImportedCustomer[]; rejects: Reject[] } {
  const customers: ImportedCustomer[] = []
  const rejects: Reject[] = []
  const lines = readLines(
    rows.map(({ text = '' }) => text),
    columns,
    first,
  )
  for (const [index, { row, cells, problem }] of lines.entries()) {
    const code = rows[index]?.text === undefined ? 'VALIDATION.csv.row_too_long' : problem?.code
    const read = code ? { error: { code, field: null } } : readCustomer(cells ?? {}, settings)
    if ('error' in read) rejects.push({ row, ...read.error })
    else customers.push({ row, customer: read.customer })
  }
  return { customers, rejects }
}

/**
 * Counts the chunk. A failed condition needs no handling: the chunk was counted before, or the operation has ended.
 */
async function count(
  operation: Operation,
  { index }: Chunk,
  { succeeded, failed }: { succeeded: number; failed: number },
  { table, clock }: { table: Table; clock: StepContext['clock'] },
): Promise<void> {
  const { id, expires_at } = operation
  const add = { chunks_done: 1, rows_succeeded: succeeded, rows_failed: failed }
  const changes: Change[] = [
    { item: { ...chunkKey(id, index), succeeded, failed, expires_at }, condition: { absent: true } },
    { ...transition(operation, 'count', clock.now()), add },
  ]
  await table.transact(changes)
}
