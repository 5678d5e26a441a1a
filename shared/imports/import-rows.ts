import { readCustomer } from '../customers/customer.ts'
import { type ImportedCustomer, writeCustomers } from '../customers/customer-store.ts'
import type { Operation, Reject } from '../operations/operation.ts'
import { operationTransitions } from '../operations/operation-states.ts'
import { findOperation, moveOperation, type OperationRef } from '../operations/operation-store.ts'
import { readLines } from '../platform/formats/csv-reader.ts'
import type { WorkContext } from '../platform/request/context.ts'
import type { Change, Table } from '../platform/table/table.ts'
import type { Settings } from '../settings/register.ts'
import { type ChunkRow, chunkRows } from './chunk-rows.ts'
import { type Chunk, chunkKey, chunkRejectsKey, fileKey } from './import-files.ts'
import { takeTurn } from './pace.ts'
import { rejectLines } from './reject-file.ts'

/** The workflow's input for each chunk. */
type ChunkRef = OperationRef & { chunk: Chunk }

/** `wait`: nothing was written, as other chunks go first; the workflow runs the chunk again later. */
interface RowsResult {
  next: 'wait' | 'end'
}

/** The bytes of a customer's item in addition to those of its row, about. */
const itemBytes = 300
const bytesOfUnit = 1024

/**
 * Imports the rows of one chunk. A bad row becomes a reject and affects no other row. One transaction counts the
 * chunk and records it as done, so a repeated run changes nothing. No chunk starts once the operation has ended or is
 * to be canceled.
 */
export async function importRows(
  ref: ChunkRef,
  context: Pick<WorkContext, 'table' | 'clock' | 'budget' | 'settings' | 'files'>,
): Promise<RowsResult> {
  const { table, settings } = context
  const files = context.files()
  const { chunk } = ref
  const operation = await importing(ref, table)
  if (!operation) return { next: 'end' }
  const { id, tenant_id: tenant, schema_version: schemaVersion, columns } = operation
  const rows: ChunkRow[] = []
  const { from, to } = chunk
  for await (const row of chunkRows(files.read(fileKey(id), { from, to }))) rows.push(row)
  const { customers, rejects, units } = readRows(rows, chunk.row, columns, settings)
  if (customers.length > 0) {
    if (!(await takeTurn(units, context))) return { next: 'wait' }
    // The operation may have ended during the wait, and its tenant may be purged next.
    if (!(await importing(ref, table))) return { next: 'end' }
    await writeCustomers(customers, { tenant, operationId: id, schemaVersion }, table)
  }
  if (rejects.length > 0) {
    await files.write(chunkRejectsKey(id, chunk.index), rejectLines(rejects), 'text/csv')
  }
  await count(operation, chunk, { succeeded: customers.length, failed: rejects.length }, context)
  return { next: 'end' }
}

/** Returns the operation of a chunk that has to be imported. */
async function importing(ref: ChunkRef, table: Table): Promise<Operation | undefined> {
  const operation = await findOperation(table, ref)
  if (
    !operation ||
    !operationTransitions.allows('progress', operation.state) ||
    operation.cancel_requested === 'yes'
  )
    return undefined
  return (await table.get(chunkKey(operation.id, ref.chunk.index))) ? undefined : operation
}

/** @returns also the write units of the customers, about */
function readRows(
  rows: readonly ChunkRow[],
  first: number,
  columns: readonly string[],
  settings: Settings,
): { customers: ImportedCustomer[]; rejects: Reject[]; units: number } {
  let units = 0
  const customers: ImportedCustomer[] = []
  const rejects: Reject[] = []
  const lines = readLines(
    rows.map(({ text = '' }) => text),
    columns,
    first,
  )
  for (const [index, { row, cells, problem }] of lines.entries()) {
    const { text, bytes = 0 } = rows[index] ?? {}
    const code = text === undefined ? 'VALIDATION.csv.row_too_long' : problem?.code
    const read = code ? { error: { code, field: null } } : readCustomer(cells ?? {}, settings)
    if ('error' in read) rejects.push({ row, ...read.error })
    else {
      customers.push({ row, customer: read.customer })
      units += Math.ceil((bytes + itemBytes) / bytesOfUnit)
    }
  }
  return { customers, rejects, units }
}

/**
 * Counts the chunk. A failed condition needs no handling: the chunk was counted before, or the operation has ended.
 */
async function count(
  operation: Operation,
  { index }: Chunk,
  { succeeded, failed }: { succeeded: number; failed: number },
  { table, clock }: Pick<WorkContext, 'table' | 'clock'>,
): Promise<void> {
  const { id, expires_at } = operation
  const add = { chunks_done: 1, rows_succeeded: succeeded, rows_failed: failed }
  const changes: Change[] = [
    { item: { ...chunkKey(id, index), succeeded, failed, expires_at }, condition: { absent: true } },
    { ...moveOperation(operation, 'progress', clock.now()), add },
  ]
  await table.transact(changes)
}
