/** The beginning of a file, which may be all of it. */
export interface Head {
  /** The whole file, if it is no larger than the limit. */
  whole: Buffer | undefined
  /** All of the file, from its beginning. */
  chunks: AsyncIterable<Uint8Array>
}

/** Reads a file until it ends or exceeds `maxBytes`, whichever comes first. */
export async function headOf(file: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Head> {
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

async function* chain(
  head: Uint8Array[],
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  for (let chunk = head.shift(); chunk; chunk = head.shift()) yield chunk
  yield* { [Symbol.asyncIterator]: () => rest }
}
