import * as v from 'valibot'
import { readCustomer } from '../customers/customer.ts'
import { type ImportedCustomer, writeCustomers } from '../customers/customer-store.ts'
import { type Operation, operationTransitions, type Reject } from '../operations/operation.ts'
import { findOperation, moveOperation, OperationRef } from '../operations/operation-store.ts'
import { readLines, type StreamedRow, streamRows } from '../platform/formats/csv-reader.ts'
import type { WorkContext } from '../platform/request/context.ts'
import type { Key } from '../platform/table/keys.ts'
import type { Table } from '../platform/table/table.ts'
import { chunkKey, fileKey } from './import.ts'
import { waitForWrites } from './limit-rate.ts'

type Context = Pick<WorkContext, 'table' | 'clock' | 'budget' | 'settings' | 'files'>

/** The workflow's input for each chunk. */
const ChunkRef = v.object({
  ...OperationRef.entries,
  chunk: v.object({ index: v.number(), from: v.number(), to: v.number(), row: v.number() }),
})
type ChunkRef = v.InferOutput<typeof ChunkRef>

/** `wait`: nothing was written, because other chunks write first; the workflow runs the chunk again later. */
interface RowsResult {
  next: 'wait' | 'end'
}

/** The item of a chunk that is done. */
export interface DoneChunk extends Key {
  /** In file order. */
  rejects: Reject[]
  /** Seconds since 1970. */
  expires_at: number
}

/** The rows of a chunk, checked. */
interface CheckedRows {
  customers: ImportedCustomer[]
  rejects: Reject[]
  /** The write units of the chunk, about. */
  units: number
}

const bytesOfUnit = 1024
/** The bytes of a customer's item in addition to those of its row, about. */
const itemBytes = 300
/** The bytes of a reject, about, doubled: it is written in a transaction. */
const rejectBytes = 2 * 75

/**
 * Imports the rows of one chunk. A bad row becomes a reject and affects no other row. One transaction counts the
 * chunk and stores it as done, so a repeated run changes nothing. No chunk starts once the operation has ended or is
 * to be canceled.
 */
export async function importRows(input: ChunkRef, context: Context): Promise<RowsResult> {
  const ref = v.parse(ChunkRef, input)
  const { table } = context
  const operation = await operationToImport(ref, table)
  if (!operation) return { next: 'end' }
  const { customers, rejects, units } = await readChunk(operation, ref.chunk, context)
  if (!(await waitForWrites(units, context))) return { next: 'wait' }
  // The operation may have ended during the wait, and its tenant may be purged next.
  if (!(await operationToImport(ref, table))) return { next: 'end' }
  const { id: operationId, tenant_id: tenant, schema_version: schemaVersion } = operation
  await writeCustomers(customers, { tenant, operationId, schemaVersion }, table)
  await storeDone(operation, ref.chunk, { succeeded: customers.length, rejects }, context)
  return { next: 'end' }
}

/** Returns the operation of a chunk that has to be imported; undefined if it is done, or its operation stops. */
async function operationToImport(ref: ChunkRef, table: Table): Promise<Operation | undefined> {
  const operation = await findOperation(table, ref)
  if (
    !operation ||
    !operationTransitions.allows('progress', operation.state) ||
    operation.cancel_requested === 'yes'
  )
    return undefined
  return (await table.get(chunkKey(operation.id, ref.chunk.index))) ? undefined : operation
}

async function readChunk(
  { id, columns }: Operation,
  { from, to, row: first }: ChunkRef['chunk'],
  { files, settings }: Pick<Context, 'files' | 'settings'>,
): Promise<CheckedRows> {
  const rows: StreamedRow[] = []
  for await (const row of streamRows(files().read(fileKey(id), { from, to }))) rows.push(row)
  const lines = readLines(
    rows.map(({ text = '' }) => text),
    columns,
    first,
  )
  const customers: ImportedCustomer[] = []
  const rejects: Reject[] = []
  let units = 0
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
  return { customers, rejects, units: units + Math.ceil((rejects.length * rejectBytes) / bytesOfUnit) }
}

/**
 * Counts the chunk and stores its rejects. A failed condition needs no handling: the chunk was counted before, or the
 * operation has ended.
 */
async function storeDone(
  operation: Operation,
  { index }: ChunkRef['chunk'],
  { succeeded, rejects }: { succeeded: number; rejects: Reject[] },
  { table, clock }: Pick<Context, 'table' | 'clock'>,
): Promise<void> {
  const { id, expires_at } = operation
  const done: DoneChunk = { ...chunkKey(id, index), rejects, expires_at }
  const add = { chunks_done: 1, rows_succeeded: succeeded, rows_failed: rejects.length }
  await table.transact([
    { item: { ...done }, condition: { absent: true } },
    { ...moveOperation(operation, 'progress', clock.now()), add },
  ])
}
