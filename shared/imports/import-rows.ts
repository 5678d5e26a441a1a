import { readCustomer } from '../customers/customer.ts'
import { type ImportedCustomer, writeCustomers } from '../customers/customer-store.ts'
import type { Operation, Reject } from '../operations/operation.ts'
import { mayMove } from '../operations/operation-states.ts'
import { findOperation, type OperationRef, transition } from '../operations/operation-store.ts'
import { linesOf, readLines } from '../platform/formats/csv-reader.ts'
import type { StepContext } from '../platform/jobs/workflow.ts'
import type { Change, Table } from '../platform/table/table.ts'
import type { Settings } from '../settings/register.ts'
import { type Chunk, chunkKey, chunkRejectsKey, fileKey } from './import-files.ts'
import { rejectLines } from './reject-file.ts'

/** The workflow's input for each chunk. */
type ChunkRef = OperationRef & { chunk: Chunk }

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
  const { customers, rejects } = chunk.too_long
    ? { customers: [], rejects: [{ row: chunk.row, code: 'VALIDATION.csv.row_too_long', field: null }] }
    : readRows(linesOf(await bytesOf(operation, chunk, context)), chunk, operation.columns, settings)
  const { tenant_id: tenant, schema_version: schemaVersion } = operation
  await writeCustomers(customers, { tenant, operationId: operation.id, schemaVersion }, table)
  if (rejects.length > 0) {
    await files.write(chunkRejectsKey(operation.id, chunk.index), rejectLines(rejects), 'text/csv')
  }
  await count(operation, chunk, { succeeded: customers.length, failed: rejects.length }, context)
}

/** Returns the bytes of a chunk. */
async function bytesOf({ id }: Operation, { from, to }: Chunk, { files }: StepContext): Promise<Buffer> {
  const read: Uint8Array[] = []
  for await (const bytes of files.read(fileKey(id), { from, to })) read.push(bytes)
  return Buffer.concat(read)
}

function readRows(lines: readonly string[], chunk: Chunk, columns: readonly string[], settings: Settings) {
  const customers: ImportedCustomer[] = []
  const rejects: Reject[] = []
  for (const { row, cells, problem } of readLines(lines, columns, chunk.row)) {
    const read = problem ? { error: { code: problem.code, field: null } } : readCustomer(cells, settings)
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
