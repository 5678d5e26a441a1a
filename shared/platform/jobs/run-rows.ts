import { messageId } from '../../error-catalog.ts'
import { Failure, fail } from '../base/failure.ts'
import { type Committer, commit } from '../idempotency/commit.ts'
import { type Attempt, auditDenial } from '../request/audit-denial.ts'
import type { Effects } from '../request/reply.ts'
import type { Item } from '../table/keys.ts'
import type { RowResult } from './bulk-reply.ts'

/** The decision for one row: the id of its item, and the effects to commit. */
export interface RowDecision extends Effects {
  status: number
  id: string
}

export interface Batch<Row> {
  /** Identifies the batch: its completed rows are not executed again. */
  id: string
  rows: readonly Row[]
  /** Rows with the same key are executed one after another, in order. */
  keyOf: (row: Row) => string
  /** Decides one row. A permanent failure is the row's result; a retryable one ends the batch, which can be resumed. */
  decide: (row: Row, index: number) => Promise<RowDecision>
  /** Called when a row fails by a fault of the service, which the row's result does not describe. */
  onFault: (failure: Failure) => void
  /** Returns the audit data of a denied row. */
  attemptOf: (row: Row) => Attempt
  /** Seconds for which a batch can be resumed. */
  resumableSeconds: number
}

/** Enough rows for throughput, few enough to leave capacity to other requests. */
const rowsAtOnce = 16

/**
 * Executes the rows of a batch, each in its own transaction with a marker. After a crash, the same batch continues
 * where it stopped, and no row is executed twice.
 * @returns one result per row, in the order of the rows, numbered from 0
 * @throws retryable failures; completed rows stay completed
 */
export async function runRows<Row>(batch: Batch<Row>, committer: Committer): Promise<RowResult[]> {
  const results: (RowResult | undefined)[] = batch.rows.map(() => undefined)
  for (const done of await rowsDone(batch, committer)) results[done.index] = done
  const waiting = batch.rows.map((row, index) => ({ row, index })).filter(({ index }) => !results[index])
  const lines = [...Map.groupBy(waiting, ({ row }) => batch.keyOf(row)).values()]
  let interruption: { thrown: unknown } | undefined
  async function work(): Promise<void> {
    for (let line = lines.shift(); line; line = lines.shift()) {
      for (const { row, index } of line) {
        if (interruption) return
        try {
          results[index] = await runRow(batch, row, index, committer)
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
    for (const done of await rowsDone(batch, committer)) results[done.index] = done
  }
  return results as RowResult[]
}

/** Returns the results of the rows that any run of the batch has completed. */
async function rowsDone<Row>({ id }: Batch<Row>, { table }: Committer): Promise<RowResult[]> {
  const done: RowResult[] = []
  for (let low = 0; ; low = (done.at(-1)?.index ?? 0) + 1) {
    const range = { partition: partitionOf(id), low: sortKeyOf(low), high: 'g', descending: false }
    const { items, exhausted } = await table.readRange({ ...range, limit: 1000 })
    done.push(...items.map(resultOf))
    if (exhausted) return done
  }
}

async function runRow<Row>(
  batch: Batch<Row>,
  row: Row,
  index: number,
  committer: Committer,
): Promise<RowResult> {
  try {
    const decision = await batch.decide(row, index)
    const committed = await commit(committer, decision, ({ status, id }) => ({
      record: { item: markerOf(batch, index, { status, id }, committer), condition: { absent: true } },
    }))
    return 'existing' in committed
      ? resultOf(committed.existing)
      : { index, status: decision.status, id: decision.id }
  } catch (thrown) {
    const answer = await auditDenial(thrown, () => batch.attemptOf(row), committer)
    const failure = answer instanceof Failure ? answer : fail('INTERNAL.unexpected', { cause: answer })
    if (failure.retryable) throw failure
    if (failure.http >= 500) batch.onFault(failure)
    return { index, status: failure.http, error: rowError(failure) }
  }
}

function rowError({ code, http, retryable, details = {} }: Failure): NonNullable<RowResult['error']> {
  return { code, message_id: messageId(code), http, retryable, details }
}

function markerOf<Row>(
  { id, resumableSeconds }: Batch<Row>,
  index: number,
  result: { status: number; id: string },
  { clock }: Committer,
): Item {
  return {
    pk: partitionOf(id),
    sk: sortKeyOf(index),
    status: result.status,
    row_id: result.id,
    expires_at: Math.floor(clock.now() / 1000) + resumableSeconds,
  }
}

function resultOf(marker: Item): RowResult {
  return { index: Number(marker.sk), status: Number(marker.status), id: String(marker.row_id) }
}

function partitionOf(batchId: string): string {
  return `batch#${batchId}`
}

function sortKeyOf(index: number): string {
  return String(index).padStart(8, '0')
}
