import { customerColumns } from '../customers/customer.ts'
import type { ErrorCode } from '../error-catalog.ts'
import { endOperation } from '../operations/end-operation.ts'
import type { Operation } from '../operations/operation.ts'
import { isEnded } from '../operations/operation-states.ts'
import { findOperation, moveOperation, type OperationRef } from '../operations/operation-store.ts'
import { Failure } from '../platform/base/failure.ts'
import { fetchFile, HostFailure, internet, type Network } from '../platform/formats/fetch-file.ts'
import type { WorkContext } from '../platform/request/context.ts'
import { fileHash, readReservation, reserveFile } from './file-reservation.ts'
import { type Chunk, fileKey, manifestKey } from './import-files.ts'
import { fileLimits, type SplitFile, splitFile } from './split-file.ts'

type Context = Pick<WorkContext, 'table' | 'clock' | 'budget' | 'settings' | 'files'>

/** The next workflow step: the rows, the completion, another attempt after a wait, or the end. */
interface PrepareResult {
  next: 'rows' | 'complete' | 'wait' | 'end'
  /** The file key of the list of chunks. */
  manifest: string
}

/**
 * How long a download may take, and its minimum average rate after the first seconds, as web servers require it of their
 * callers (Kestrel, mod_reqtimeout). The largest file of base-1 arrives in time from a host that sends 1 MB a second.
 */
export const fetchLimits = { deadlineSeconds: 120, graceSeconds: 5, minBytesPerSecond: 50 * 1024 }

/** How a remote file is fetched. */
export interface Download {
  network: Network
  limits: typeof fetchLimits
}

const maxFetches = 3
const firstPauseMilliseconds = 1000
const byteOrderMark = [0xef, 0xbb, 0xbf]
/** Less than the time that a function has in addition to the time of its step. */
const endingMilliseconds = 4000

/**
 * Runs the first step of an import: fetches the file if it is remote, checks it and splits it into chunks. An invalid
 * file ends the operation with the error, and so does a host that fails or is too slow.
 * @throws a transient error of the service itself; the workflow retries the step
 */
export async function prepareImport(
  ref: OperationRef,
  context: Context & Pick<WorkContext, 'tableWithin'>,
  { network = internet, limits = fetchLimits }: Partial<Download> = {},
): Promise<PrepareResult> {
  try {
    return { next: await prepare(ref, context, { network, limits }), manifest: manifestKey(ref.operation_id) }
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

async function prepare(
  ref: OperationRef,
  context: Context,
  download: Download,
): Promise<PrepareResult['next']> {
  const started = await start(ref, context)
  if (!started || isEnded(started.state)) return 'end'
  if (started.cancel_requested === 'yes') return 'complete'
  if (started.chunks_total > 0) return 'rows'
  const operation = started.file_hash === '' ? await fetchSource(started, context, download) : started
  if (operation.source.kind === 'url') {
    const result = await reserve(operation, context)
    if (result !== 'reserved') return result
  }
  const { columns, chunks } = await writeManifest(operation, context)
  await update(operation, { columns, chunks_total: chunks }, context)
  return chunks > 0 ? 'rows' : 'complete'
}

async function start(
  ref: OperationRef,
  { table, clock }: Pick<Context, 'table' | 'clock'>,
): Promise<Operation | undefined> {
  const operation = await findOperation(table, ref)
  if (operation?.state !== 'pending') return operation
  await table.transact([moveOperation(operation, 'start', clock.now())])
  return findOperation(table, ref)
}

/** Stores the remote file of an operation. It is fetched once, so every later step reads the same bytes. */
async function fetchSource(operation: Operation, context: Context, download: Download): Promise<Operation> {
  const file_hash = await storeFile(operation, context, download)
  await update(operation, { file_hash }, context)
  return { ...operation, file_hash }
}

/**
 * Reserves a fetched file for this operation. If another operation imports the file, this one waits. If another has
 * imported it, this one ends with the same completion.
 */
async function reserve(
  operation: Operation,
  context: Pick<Context, 'table' | 'clock'>,
): Promise<'reserved' | Exclude<PrepareResult['next'], 'rows'>> {
  const { table, clock } = context
  const { tenant_id: tenant, id, file_hash } = operation
  const { holder, current: first } = await readReservation(table, tenant, file_hash, clock.now())
  if (first?.id === id) return 'reserved'
  if (!first) {
    const { onFailure: _, ...reservation } = reserveFile(operation, file_hash, holder)
    return (await table.transact([reservation])) ? 'wait' : 'reserved'
  }
  const { completion } = first
  if (first.state !== 'succeeded' || !completion) return 'wait'
  await endOperation({ tenant, operation_id: id }, () => ({ trigger: 'succeed', completion }), context)
  return 'end'
}

async function writeManifest(
  { id }: Operation,
  context: Pick<Context, 'files' | 'settings'>,
): Promise<SplitFile> {
  const files = context.files()
  const split = splitFile(files.read(fileKey(id)), customerColumns, fileLimits(context.settings))
  let result: SplitFile | undefined
  async function* manifest() {
    for (let before = '['; ; before = ',') {
      const { done, value } = await split.next()
      if (done) {
        result = value
        yield Buffer.from(before === '[' ? '[]' : ']')
        return
      }
      yield Buffer.from(`${before}${JSON.stringify(value satisfies Chunk)}`)
    }
  }
  await files.write(manifestKey(id), manifest(), 'application/json')
  if (!result) throw new Error('a manifest was written before its end')
  return result
}

/** Updates the operation. If the condition fails, the operation has ended, and the next step handles that. */
async function update(
  operation: Operation,
  set: Partial<Operation>,
  { table, clock }: Pick<Context, 'table' | 'clock'>,
): Promise<void> {
  await table.transact([moveOperation(operation, 'progress', clock.now(), set, { chunks_total: 0 })])
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

/** Strips the byte order mark, so a file has the same hash with and without it. */
async function* withoutByteOrderMark(file: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let beginning: Buffer | undefined = Buffer.alloc(0)
  for await (const bytes of file) {
    if (!beginning) {
      yield bytes
      continue
    }
    beginning = Buffer.concat([beginning, bytes])
    if (beginning.length < byteOrderMark.length) continue
    yield unmarked(beginning)
    beginning = undefined
  }
  if (beginning) yield unmarked(beginning)
}

function unmarked(bytes: Buffer): Buffer {
  return byteOrderMark.every((byte, index) => bytes[index] === byte)
    ? bytes.subarray(byteOrderMark.length)
    : bytes
}
