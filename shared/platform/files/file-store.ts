/** Keys begin with it: a day after it was written, whatever lies below is deleted. */
export const exportFolder = 'exports/'
/** Files to be imported and how they are cut up: deleted after a day, by when every import has ended. */
export const importFolder = 'imports/'
/** What was refused of imports, without anything of a person: kept as long as their operations. */
export const rejectFolder = 'rejects/'

/** Bytes of a file: from the first of them up to the one at `to`, which is not among them. */
export interface ByteRange {
  from: number
  to: number
}

/** Files that are too large for an answer or a message. */
export interface FileStore {
  /**
   * Writes a file as its chunks come, holding a few of them at a time. A file that is not finished leaves nothing.
   * @throws DEPENDENCY.unavailable, DEPENDENCY.timeout, and whatever the chunks throw
   */
  write(key: string, chunks: AsyncIterable<Uint8Array>, mediaType: string): Promise<void>
  /**
   * Reads a file, or some of its bytes, as they come.
   * @throws DEPENDENCY.unavailable, DEPENDENCY.timeout
   */
  read(key: string, range?: ByteRange): AsyncIterable<Uint8Array>
  /**
   * An address that gives the file to whoever has it, saved under this name in printable ASCII. It lives for so many
   * seconds, a week at most, and no longer than the credentials of the function that made it.
   */
  link(key: string, as: { fileName: string; mediaType: string; seconds: number }): Promise<string>
}
