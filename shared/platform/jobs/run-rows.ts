import { messageId } from '../../error-catalog.ts'
import { type DeniedAction, writeDenial } from '../audit/denials.ts'
import { type Details, Failure, fail } from '../base/failure.ts'
import { commitDecision } from '../idempotency/commit-decision.ts'
import type { Revisable, Run } from '../idempotency/decision.ts'
import type { Item } from '../table/keys.ts'

/** The result of one row; rows are numbered from 0 here. */
export interface RowResult {
  index: number
  status: number
  /** The id of the row's resource, if known. */
  id?: string
  /** The entity tag of the row's resource, if the operation returns it. */
  etag?: string
  /** As in the error envelope. */
  error?: { code: string; message_id: string; http: number; retryable: boolean; details: Details }
}

/** The decision for one row: the id of its item, and the effects to commit. */
export interface RowDecision extends Revisable<RowDecision> {
  status: number
  id: string
  etag?: string
}

export interface RowBatch<Row> {
  /** Identifies the batch: its completed rows are not executed again. */
  id: string
  rows: readonly Row[]
  /** Rows with the same key are executed one after another, in order. */
  keyOf: (row: Row) => string
  /** Decides one row. A permanent failure is the row's result; a retryable one ends the batch, which can be resumed. */
  decide: (row: Row) => Promise<RowDecision>
  /** Called when a row fails by a fault of the service, which the row's result does not describe. */
  onFault: (failure: Failure) => void
  /** Returns the denied action of a row. */
  deniedAction: (row: Row) => DeniedAction
  /** Seconds for which a batch can be resumed. */
  resumableSeconds: number
}

/** Enough rows for throughput, few enough to leave capacity to other requests. */
const rowsAtOnce = 16

/**
 * Executes the rows of a batch, each in its own transaction with its progress item. After a crash, the same batch continues
 * where it stopped, and no row is executed twice.
 * @returns one result per row, in the order of the rows, numbered from 0
 * @throws retryable failures; completed rows stay completed
 */
export async function runRows<Row>(
  batch: RowBatch<Row>,
  context: Pick<Run, 'table' | 'clock' | 'caller' | 'correlation'>,
): Promise<RowResult[]> {
  const results: (RowResult | undefined)[] = batch.rows.map(() => undefined)
  for (const done of await rowsDone(batch, context)) results[done.index] = done
  const waiting = batch.rows.map((row, index) => ({ row, index })).filter(({ index }) => !results[index])
  const lines = [...Map.groupBy(waiting, ({ row }) => batch.keyOf(row)).values()]
  let interruption: { thrown: unknown } | undefined
  async function work(): Promise<void> {
    for (let line = lines.shift(); line; line = lines.shift()) {
      for (const { row, index } of line) {
        if (interruption) return
        try {
          results[index] = await runRow(batch, row, index, context)
        } catch (thrown) {
          interruption ??= { thrown }
        }
      }
    }
  }
  await Promise.all(Array.from({ length: rowsAtOnce }, work))
  if (interruption) throw (interruption as { thrown: unknown }).thrown
  // A transaction of an earlier run may have committed late and made its own row fail here: such a row is done.
  if (results.some((result) => result?.error)) {
    for (const done of await rowsDone(batch, context)) results[done.index] = done
  }
  return results as RowResult[]
}

/** Returns the results of the rows that any run of the batch has completed. */
async function rowsDone(
  { id }: Pick<RowBatch<never>, 'id'>,
  { table }: Pick<Run, 'table'>,
): Promise<RowResult[]> {
  const done: RowResult[] = []
  for (let low = 0; ; low = (done.at(-1)?.index ?? 0) + 1) {
    const range = { partition: partitionOf(id), low: rowSortKey(low), high: 'g', descending: false }
    const { items, exhausted } = await table.readRange({ ...range, limit: 1000 })
    done.push(...items.map(rowResult))
    if (exhausted) return done
  }
}

async function runRow<Row>(
  batch: RowBatch<Row>,
  row: Row,
  index: number,
  context: Pick<Run, 'table' | 'clock' | 'caller' | 'correlation'>,
): Promise<RowResult> {
  try {
    const decision = await batch.decide(row)
    const committed = await commitDecision(context, decision, ({ status, id, etag }) => {
      const result = { index, status, id, ...(etag !== undefined && { etag }) }
      return { result, guard: { item: completedRow(batch, result, context), condition: { absent: true } } }
    })
    return 'existing' in committed ? rowResult(committed.existing) : committed.result
  } catch (thrown) {
    const answer = await writeDenial(thrown, () => batch.deniedAction(row), context)
    const failure = answer instanceof Failure ? answer : fail('INTERNAL.unexpected', { cause: answer })
    if (failure.retryable) throw failure
    if (failure.http >= 500) batch.onFault(failure)
    return { index, status: failure.http, error: rowError(failure) }
  }
}

function rowError({ code, http, retryable, details = {} }: Failure): NonNullable<RowResult['error']> {
  return { code, message_id: messageId(code), http, retryable, details }
}

function completedRow(
  batch: Pick<RowBatch<never>, 'id' | 'resumableSeconds'>,
  { index, status, id, etag }: Omit<RowResult, 'error'>,
  { clock }: Pick<Run, 'clock'>,
): Item {
  return {
    pk: partitionOf(batch.id),
    sk: rowSortKey(index),
    status,
    row_id: id,
    ...(etag !== undefined && { etag }),
    expires_at: Math.ceil(clock.now() / 1000) + batch.resumableSeconds,
  }
}

function rowResult(item: Item): RowResult {
  const { sk, status, row_id, etag } = item
  const result = { index: Number(sk), status: Number(status), id: String(row_id) }
  return etag === undefined ? result : { ...result, etag: String(etag) }
}

function partitionOf(batchId: string): string {
  return `batch#${batchId}`
}

function rowSortKey(index: number): string {
  return String(index).padStart(8, '0')
}
