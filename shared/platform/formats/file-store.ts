/** The key prefix of exports, which are deleted a day after they are written. */
export const exportFolder = 'exports/'
/** The folder of the exports of the table, which operators read, but no function. They are deleted after a day. */
export const tableFolder = 'table'
/** The key prefix of files to import, deleted after a day. By then every import has ended. */
export const importFolder = 'imports/'
/** The key prefix of the rejected rows of imports, without personal data, kept as long as their operations. */
export const rejectFolder = 'rejects/'

/** A byte range of a file: `from` is inclusive, `to` is exclusive. */
export interface ByteRange {
  from: number
  to: number
}

/** Storage of files that are too large for a response or a message. */
export interface FileStore {
  /**
   * Writes a file as its chunks arrive, with a few of them in memory. An unfinished file leaves nothing behind.
   * @throws DEPENDENCY.unavailable, DEPENDENCY.timeout, and the errors of the chunks
   */
  write(key: string, chunks: AsyncIterable<Uint8Array>, mediaType: string): Promise<void>
  /**
   * Streams a file or a range of its bytes.
   * @throws DEPENDENCY.unavailable, DEPENDENCY.timeout
   */
  read(key: string, range?: ByteRange): AsyncIterable<Uint8Array>
  /**
   * Returns a URL that gives the file to anyone who has it, saved under this name in printable ASCII. The URL is valid
   * for `seconds`, at most a week, and no longer than the credentials of the function that signed it.
   */
  link(key: string, as: { fileName: string; mediaType: string; seconds: number }): Promise<string>
}

/**
 * Reads a file until it ends or exceeds `maxBytes`, whichever comes first.
 * @returns `whole` only if the file is no larger, and all of its bytes as `chunks`
 */
export async function headOf(
  file: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<{ whole: Buffer | undefined; chunks: AsyncIterable<Uint8Array> }> {
  const read: Uint8Array[] = []
  const rest = file[Symbol.asyncIterator]()
  let bytes = 0
  while (bytes <= maxBytes) {
    const { done, value } = await rest.next()
    if (done) return { whole: Buffer.concat(read), chunks: chain(read, rest) }
    read.push(value)
    bytes += value.byteLength
  }
  return { whole: undefined, chunks: chain(read, rest) }
}

async function* chain(head: Uint8Array[], rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  for (let chunk = head.shift(); chunk; chunk = head.shift()) yield chunk
  yield* { [Symbol.asyncIterator]: () => rest }
}
