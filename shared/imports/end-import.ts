import * as v from 'valibot'
import { type Ending, endOperation, endUnfinished } from '../operations/end-operation.ts'
import { countsOf, type Operation, type Reject, resultOutcome } from '../operations/operation.ts'
import { OperationRef } from '../operations/operation-store.ts'
import { fail } from '../platform/base/failure.ts'
import { csvLines } from '../platform/formats/csv-writer.ts'
import type { WorkContext } from '../platform/request/context.ts'
import type { Table } from '../platform/table/table.ts'
import { chunkPartition, rejectsKey } from './import.ts'
import type { DoneChunk } from './import-rows.ts'

type Context = Pick<WorkContext, 'table' | 'clock' | 'files' | 'settings'>

/** The workflow's input for the last step, with the error of an earlier step that failed for good. */
const EndRef = v.object({
  ...OperationRef.entries,
  fault: v.exactOptional(v.object({ Error: v.exactOptional(v.string()) })),
})
type EndRef = v.InferOutput<typeof EndRef>

/** Ends an import, with a result if its steps have run, or after one of them failed, whatever its progress. */
export async function endImport(input: EndRef, context: Context): Promise<void> {
  const { fault, ...ref } = v.parse(EndRef, input)
  const code = fault?.Error === 'States.Timeout' ? 'DEPENDENCY.timeout' : 'INTERNAL.unexpected'
  await endOperation(
    ref,
    (operation) => (fault ? endUnfinished(operation, fail(code)) : endFinished(operation, context)),
    context,
  )
}

/**
 * Returns the ending of an import whose chunks have run. One with a cancel request is canceled, with its counts so far, if
 * rows were left. One of which chunks are not counted fails, and its sender repeats it: they were imported into a table
 * from which a restore has taken their rows.
 */
async function endFinished(operation: Operation, context: Context): Promise<Ending> {
  const { columns, chunks_done, chunks_total, cancel_requested } = operation
  const isWhole = columns.length > 0 && chunks_done === chunks_total
  if (!isWhole && cancel_requested === 'no') return { trigger: 'fail', failure: fail('TRANSIENT.error') }
  const counts = countsOf(operation)
  const rejects = await writeRejects(operation, context)
  const result = { outcome: resultOutcome(counts, isWhole), counts, ...rejects }
  return { trigger: isWhole ? 'succeed' : 'cancel', result }
}

/** Writes the rejects of all chunks to one file. @returns the first rejects, and the key of the file */
async function writeRejects(
  { id, rows_failed }: Operation,
  { table, files, settings }: Pick<Context, 'table' | 'files' | 'settings'>,
): Promise<{ rejects: Reject[]; rejects_key?: string }> {
  if (rows_failed === 0) return { rejects: [] }
  const { rejectsShown } = settings['imports.result']
  const shown: Reject[] = []
  async function* lines() {
    yield Buffer.from(csvLines([['row', 'code', 'field']]))
    for await (const rejects of rejectsOf(id, table)) {
      shown.push(...rejects.slice(0, rejectsShown - shown.length))
      yield Buffer.from(csvLines(rejects.map(({ row, code, field }) => [String(row), code, field ?? ''])))
    }
  }
  await files().write(rejectsKey(id), lines(), 'text/csv')
  return { rejects: shown, rejects_key: rejectsKey(id) }
}

/** Yields the rejects of an operation in file order, a page of chunks at a time. */
async function* rejectsOf(operationId: string, table: Table): AsyncGenerator<Reject[]> {
  const range = { partition: chunkPartition(operationId), high: 'g', descending: false, limit: 1000 }
  for (let low = '0'; ; ) {
    const { items, exhausted } = await table.readRange({ ...range, low })
    yield (items as unknown as DoneChunk[]).flatMap(({ rejects }) => rejects)
    if (exhausted) return
    low = `${items.at(-1)?.sk}#`
  }
}
