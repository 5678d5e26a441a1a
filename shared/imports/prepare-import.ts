import { customerColumns } from '../customers/customer.ts'
import { endOperation } from '../operations/end-operation.ts'
import type { Operation } from '../operations/operation.ts'
import { isEnded } from '../operations/operation-states.ts'
import { findOperation, transition, type OperationRef } from '../operations/operation-store.ts'
import { Failure } from '../platform/base/failure.ts'
import { HostFailure, internet, type Network } from '../platform/formats/fetch-file.ts'
import type { StepContext } from '../platform/jobs/workflow.ts'
import type { Table } from '../platform/table/table.ts'
import { reserveFile, readReservation } from './import-claim.ts'
import { type Chunk, fileKey, manifestKey } from './import-places.ts'
import { type SplitFile, splitFile } from './split-file.ts'
import { storeFile } from './store-file.ts'

/** The next workflow step: the rows, the completion, another attempt after a wait, or the end. */
export interface PrepareResult {
  next: 'rows' | 'complete' | 'wait' | 'end'
  /** The file key of the list of chunks. */
  manifest: string
}

/** Less than the time that a function has in addition to the time of its step. */
const endingMilliseconds = 4000

/**
 * Runs the first step of an import: fetches the file if it is remote, checks it and splits it into chunks. An invalid
 * file ends the operation with the error, and so does a host that fails or is too slow.
 * @throws a transient error of the service itself; the workflow retries the step
 */
export async function prepareImport(
  ref: OperationRef,
  context: StepContext,
  network: Network = internet,
): Promise<PrepareResult> {
  try {
    return { next: await prepare(ref, context, network), manifest: manifestKey(ref.operation_id) }
  } catch (thrown) {
    const final = thrown instanceof Failure && (!thrown.retryable || thrown instanceof HostFailure)
    if (!final) throw thrown
    const { clock } = context
    await endOperation(ref, () => ({ trigger: 'fail', failure: thrown }), {
      table: context.tableWithin(endingMilliseconds),
      clock,
    })
    return { next: 'end', manifest: '' }
  }
}

async function prepare(ref: OperationRef, context: StepContext, network: Network): Promise<PrepareResult['next']> {
  const started = await start(ref, context)
  if (!started || isEnded(started.state)) return 'end'
  if (started.cancel_requested === 'yes') return 'complete'
  if (started.chunks_total > 0) return 'rows'
  const operation = started.file_hash === '' ? await fetchSource(started, context, network) : started
  if (operation.source.kind === 'url') {
    const mine = await reserve(operation, context)
    if (mine !== 'claimed') return mine
  }
  const { columns, chunks } = await writeManifest(operation, context)
  await update(operation, { columns, chunks_total: chunks }, context)
  return chunks > 0 ? 'rows' : 'complete'
}

async function start(ref: OperationRef, { table, clock }: StepContext): Promise<Operation | undefined> {
  const operation = await findOperation(table, ref)
  if (operation?.state !== 'pending') return operation
  await table.transact([transition(operation, 'start', clock.now())])
  return findOperation(table, ref)
}

/** Stores the remote file of an operation. It is fetched once, so every later step reads the same bytes. */
async function fetchSource(operation: Operation, context: StepContext, network: Network): Promise<Operation> {
  const file_hash = await storeFile(operation, context, network)
  await update(operation, { file_hash }, context)
  return { ...operation, file_hash }
}

/**
 * Claims a fetched file for this operation. If another operation imports the file, this one waits. If another has
 * imported it, this one ends with the same completion.
 */
async function reserve(
  operation: Operation,
  context: StepContext,
): Promise<'claimed' | Exclude<PrepareResult['next'], 'rows'>> {
  const { table, clock } = context
  const { tenant_id: tenant, id, file_hash } = operation
  const { holder, current: first } = await readReservation(table, tenant, file_hash, clock.now())
  if (first?.id === id) return 'claimed'
  if (!first) {
    const { onFailure: _, ...claim } = reserveFile(operation, file_hash, holder)
    return (await table.transact([claim])) ? 'wait' : 'claimed'
  }
  const { completion } = first
  if (first.state !== 'succeeded' || !completion) return 'wait'
  await endOperation({ tenant, operation_id: id }, () => ({ trigger: 'succeed', completion }), context)
  return 'end'
}

async function writeManifest({ id }: Operation, { files }: StepContext): Promise<SplitFile> {
  const split = splitFile(files.read(fileKey(id)), customerColumns)
  let whole: SplitFile | undefined
  async function* manifest() {
    for (let before = '['; ; before = ',') {
      const { done, value } = await split.next()
      if (done) {
        whole = value
        yield Buffer.from(before === '[' ? '[]' : ']')
        return
      }
      yield Buffer.from(`${before}${JSON.stringify(value satisfies Chunk)}`)
    }
  }
  await files.write(manifestKey(id), manifest(), 'application/json')
  if (!whole) throw new Error('a manifest was written before its end')
  return whole
}

/** Updates the operation. If the condition fails, the operation has ended, and the next step handles that. */
async function update(
  operation: Operation,
  set: Partial<Operation>,
  { table, clock }: { table: Table; clock: StepContext['clock'] },
): Promise<void> {
  await table.transact([transition(operation, 'count', clock.now(), set, { chunks_total: 0 })])
}
