/** Keys begin with it: a day after it was written, whatever lies below is deleted. */
export const exportFolder = 'exports/'

/** Files that are too large for an answer or a message. */
export interface FileStore {
  /**
   * Writes a file as its chunks come, holding a few of them at a time. A file that is not finished leaves nothing.
   * @throws DEPENDENCY.unavailable, DEPENDENCY.timeout, and whatever the chunks throw
   */
  write(key: string, chunks: AsyncIterable<Uint8Array>, mediaType: string): Promise<void>
  /**
   * An address that gives the file to whoever has it, saved under this name in printable ASCII. It lives for so many
   * seconds, a week at most, and no longer than the credentials of the function that made it.
   */
  link(key: string, as: { fileName: string; mediaType: string; seconds: number }): Promise<string>
}
