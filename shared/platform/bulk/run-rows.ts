import { type Attempt, auditDenial } from '../audit/audit-denial.ts'
import { messageId } from '../errors/catalogue.ts'
import { Failure, fail } from '../errors/failure.ts'
import type { Effects } from '../http/reply.ts'
import { type Committer, commit } from '../idempotency/commit.ts'
import type { Item } from '../table/keys.ts'
import type { RowResult } from './bulk-reply.ts'

/** What one row comes to: the item that it is about, and what is written with it. */
export interface RowDecision extends Effects {
  status: number
  id: string
}

export interface Batch<Row> {
  /** Names the batch: a row that it has carried out already is not carried out again. */
  id: string
  rows: readonly Row[]
  /** Rows of the same key are carried out one after another, in their order. */
  keyOf: (row: Row) => string
  /** Decides one row. A failure of its own is the row's; one that may pass ends the batch, to be resumed. */
  decide: (row: Row, index: number) => Promise<RowDecision>
  /** Told of a row that failed by a fault of the service: its result says nothing of it. */
  onFault: (failure: Failure) => void
  /** How the denial of a row is audited. */
  attemptOf: (row: Row) => Attempt
  /** Seconds for which a batch can be resumed. */
  resumableSeconds: number
}

/** Enough to keep the table busy, few enough to leave it to others. */
const rowsAtOnce = 16

/**
 * Carries out the rows of a batch, each a transaction of its own with a marker in it: after a crash, the same batch
 * goes on where it stood, and no row is carried out twice.
 * @returns one result a row, in the order of the rows, which count from 0
 * @throws what may pass (retryable); the rows that were done stay done
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
  // What an earlier run had under way may have taken effect late, and refused its own row: such a row is done.
  if (results.some((result) => result?.error)) {
    for (const done of await rowsDone(batch, committer)) results[done.index] = done
  }
  return results as RowResult[]
}

/** The rows that are marked as carried out, by whichever run of the batch. */
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
