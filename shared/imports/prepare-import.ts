import * as v from 'valibot'
import { customerColumns } from '../customers/customer.ts'
import type { ErrorCode } from '../error-catalog.ts'
import { endOperation } from '../operations/end-operation.ts'
import { isEnded, type Operation } from '../operations/operation.ts'
import { findOperation, moveOperation, OperationRef } from '../operations/operation-store.ts'
import { Failure } from '../platform/base/failure.ts'
import { withoutByteOrderMark } from '../platform/formats/csv-reader.ts'
import { fetchFile, HostFailure, internet, type Network } from '../platform/formats/fetch-file.ts'
import type { WorkContext } from '../platform/request/context.ts'
import { fileHash, readReservation, reserveFile } from './file-reservation.ts'
import { fileKey } from './import.ts'
import { type Chunk, fileLimits, splitFile } from './split-file.ts'

type Context = Pick<WorkContext, 'table' | 'clock' | 'budget' | 'settings' | 'files'>

/**
 * What the workflow does next: it imports the rows of the chunks, ends the import, or prepares it again later, as an
 * earlier import of the same file has not ended.
 */
type PrepareResult = { next: 'rows'; chunks: Chunk[] } | { next: 'end' | 'wait' }

/**
 * How long a download may take, and its minimum average rate after the first seconds, as web servers require it of their
 * callers (Kestrel, mod_reqtimeout). The largest file that the setting imports.maxBytes permits arrives in time from a host that sends
 * 1 MB a second, that of base-1 at 175 KB a second. Four minutes of the step are left for its split.
 */
export const fetchLimits = { deadlineSeconds: 600, graceSeconds: 5, minBytesPerSecond: 50 * 1024 }

/** How a remote file is fetched. */
export interface Download {
  network: Network
  limits: typeof fetchLimits
}

const maxFetches = 3
const firstPauseMilliseconds = 1000
/** Less than the time that a function has in addition to the time of its step. */
const endingMilliseconds = 4000

/**
 * Starts an import: fetches the file if it is remote, reserves it, and splits it into chunks. An invalid file ends the
 * operation with the error, and so does a host that fails or is too slow.
 * @throws a transient error of the service itself; the workflow retries the step
 */
export async function prepareImport(
  input: OperationRef,
  context: Context & Pick<WorkContext, 'tableWithin'>,
  { network = internet, limits = fetchLimits }: Partial<Download> = {},
): Promise<PrepareResult> {
  const ref = v.parse(OperationRef, input)
  try {
    const started = await startOperation(ref, context)
    if (!started || isEnded(started.state) || started.cancel_requested === 'yes') return { next: 'end' }
    const operation = await fetchSource(started, context, { network, limits })
    if (operation.source.kind === 'url') {
      const other = await reserveFetched(operation, context)
      if (other) return { next: other }
    }
    return await splitIntoChunks(operation, context)
  } catch (thrown) {
    const final = thrown instanceof Failure && (!thrown.retryable || thrown instanceof HostFailure)
    if (!final) throw thrown
    const { clock, tableWithin } = context
    const ending = { trigger: 'fail', failure: thrown } as const
    await endOperation(ref, () => ending, { table: tableWithin(endingMilliseconds), clock })
    return { next: 'end' }
  }
}

async function startOperation(
  ref: OperationRef,
  { table, clock }: Pick<Context, 'table' | 'clock'>,
): Promise<Operation | undefined> {
  const operation = await findOperation(table, ref)
  if (operation?.state !== 'pending') return operation
  await table.transact([moveOperation(operation, 'start', clock.now())])
  return findOperation(table, ref)
}

/** Stores the file of an operation unless it is stored. It is fetched once, so every later step reads the same bytes. */
async function fetchSource(operation: Operation, context: Context, download: Download): Promise<Operation> {
  if (operation.file_hash !== '') return operation
  const file_hash = await storeFile(operation, context, download)
  await update(operation, { file_hash }, context)
  return { ...operation, file_hash }
}

/**
 * Fetches the file of an operation and stores it without a byte order mark. Retries within the deadline if the host
 * fails, but not if it is too slow.
 * @returns the hash of the file
 * @throws VALIDATION.url.private_range, HostFailure, the code of a file that is too large
 */
async function storeFile(
  { id, source }: Operation,
  { files, settings, budget, clock }: Pick<Context, 'files' | 'settings' | 'budget' | 'clock'>,
  { network, limits: { deadlineSeconds, ...limits } }: Download,
): Promise<string> {
  if (source.kind !== 'url') throw new Error('only a remote file is fetched')
  const request = {
    url: source.url,
    field: 'file_url',
    maxBytes: settings['imports.maxBytes'].fileUrl,
    tooLarge: settings['limits.tooLarge'] as ErrorCode,
    limits,
    deadline: AbortSignal.timeout(deadlineSeconds * 1000),
    signal: budget.signal,
  }
  for (let attempt = 1; ; attempt += 1) {
    const hash = fileHash()
    async function* hashed() {
      for await (const bytes of withoutByteOrderMark(fetchFile(request, network))) {
        hash.update(bytes)
        yield bytes
      }
    }
    try {
      await files().write(fileKey(id), hashed(), 'text/csv')
      return hash.digest()
    } catch (thrown) {
      const isTransient = thrown instanceof HostFailure && thrown.code === 'DEPENDENCY.bad_gateway'
      if (!isTransient || attempt === maxFetches) throw thrown
      await clock.sleep(firstPauseMilliseconds * 2 ** (attempt - 1))
    }
  }
}

/**
 * Reserves a fetched file for this operation. If another operation imports the file, this one waits. If another has
 * imported it, this one ends with the same result.
 * @returns what the workflow does if the file is not reserved
 */
async function reserveFetched(
  operation: Operation,
  context: Pick<Context, 'table' | 'clock'>,
): Promise<'end' | 'wait' | undefined> {
  const { table, clock } = context
  const { tenant_id: tenant, id, file_hash } = operation
  const { holder, current: first } = await readReservation(table, tenant, file_hash, clock.now())
  if (first?.id === id) return undefined
  if (!first) {
    const { onFailure: _, ...reservation } = reserveFile(operation, file_hash, holder)
    return (await table.transact([reservation])) ? 'wait' : undefined
  }
  const { result } = first
  if (first.state !== 'succeeded' || !result) return 'wait'
  await endOperation({ tenant, operation_id: id }, () => ({ trigger: 'succeed', result }), context)
  return 'end'
}

/** Splits the file, and notes how many chunks have to be done. A repeated run finds the same chunks. */
async function splitIntoChunks(
  operation: Operation,
  context: Pick<Context, 'table' | 'clock' | 'files' | 'settings'>,
): Promise<PrepareResult> {
  const file = context.files().read(fileKey(operation.id))
  const { columns, chunks } = await splitFile(file, customerColumns, fileLimits(context.settings))
  await update(operation, { columns, chunks_total: chunks.length }, context)
  return chunks.length > 0 ? { next: 'rows', chunks } : { next: 'end' }
}

/** Updates an operation of which no chunk is done. If the condition fails, it has ended or one is done, and the next step handles that. */
async function update(
  operation: Operation,
  set: Partial<Operation>,
  { table, clock }: Pick<Context, 'table' | 'clock'>,
): Promise<void> {
  await table.transact([moveOperation(operation, 'progress', clock.now(), set, { chunks_done: 0 })])
}
