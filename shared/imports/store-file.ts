import type { ErrorCode } from '../error-catalog.ts'
import type { Operation } from '../operations/operation.ts'
import { fetchFile, HostFailure, type Network } from '../platform/formats/fetch-file.ts'
import type { StepContext } from '../platform/jobs/workflow.ts'
import { fileHash } from './import-claim.ts'
import { fileKey } from './import-places.ts'

const maxFetches = 3
const firstPauseMilliseconds = 1000
const byteOrderMark = [0xef, 0xbb, 0xbf]

/**
 * Fetches the file of an operation and stores it without a byte order mark. Retries within the deadline if the host
 * fails, but not if it is too slow.
 * @returns the hash of the file
 * @throws VALIDATION.url.private_range, HostFailure, the code of a file that is too large
 */
export async function storeFile(
  { id, source }: Operation,
  { files, settings, budget, clock }: StepContext,
  network: Network,
): Promise<string> {
  if (source.kind !== 'url') throw new Error('only a file that lies elsewhere is fetched')
  const { deadlineSeconds, ...limits } = settings['imports.fetch']
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
      await files.write(fileKey(id), hashed(), 'text/csv')
      return hash.digest()
    } catch (thrown) {
      const passing = thrown instanceof HostFailure && thrown.code === 'DEPENDENCY.bad_gateway'
      if (!passing || attempt === maxFetches) throw thrown
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
