import type { Operation, Reject } from '../operations/operation.ts'
import { readLines } from '../platform/formats/csv-reader.ts'
import { csvLines } from '../platform/formats/csv-writer.ts'
import type { WorkContext } from '../platform/request/context.ts'
import { chunkPartition, chunkRejectsKey, rejectsKey } from './import-files.ts'

const columns = ['row', 'code', 'field']
/** The files of chunks that are read at the same time: a file of all chunks takes seconds. */
const readsAtOnce = 16

/** Yields reject lines in file order. They hold row number, code and field, and no value of the row. */
export async function* rejectLines(rejects: readonly Reject[]): AsyncGenerator<Uint8Array> {
  yield Buffer.from(csvLines(rejects.map(({ row, code, field }) => [String(row), code, field ?? ''])))
}

/** Writes the rejects of all completed chunks to one file. @returns the first rejects, and the key of the file */
export async function gatherRejects(
  { id, rows_failed }: Operation,
  context: Pick<WorkContext, 'table' | 'files' | 'settings'>,
): Promise<{ rejects: Reject[]; rejects_key?: string }> {
  if (rows_failed === 0) return { rejects: [] }
  const files = context.files()
  const { rejectsShown } = context.settings['imports.result']
  let first = ''
  let lines = 0
  async function* whole() {
    yield Buffer.from(csvLines([columns]))
    const rejected = inOrder(chunksWithRejects(id, context), (index) =>
      bytesOf(files.read(chunkRejectsKey(id, index))),
    )
    for await (const bytes of rejected) {
      if (lines < rejectsShown) {
        first += bytes.toString('utf8')
        lines = first.split('\r\n').length - 1
      }
      yield bytes
    }
  }
  await files.write(rejectsKey(id), whole(), 'text/csv')
  const shown = first.split('\r\n').slice(0, rejectsShown).filter(Boolean)
  const rejects = readLines(shown, columns, 1).map(({ cells }) => {
    return { row: Number(cells?.row), code: cells?.code ?? '', field: cells?.field || null }
  })
  return { rejects, rejects_key: rejectsKey(id) }
}

/** Yields the indexes of chunks with rejects, in file order. */
async function* chunksWithRejects(
  operationId: string,
  { table }: Pick<WorkContext, 'table'>,
): AsyncGenerator<number> {
  const range = { partition: chunkPartition(operationId), high: 'g', descending: false, limit: 1000 }
  for (let low = '0'; ; ) {
    const { items, exhausted } = await table.readRange({ ...range, low })
    for (const { sk, failed } of items) if (Number(failed) > 0) yield Number(sk)
    if (exhausted) return
    low = `${items.at(-1)?.sk}#`
  }
}

/** Yields the results of concurrent work in the order of its subjects. */
async function* inOrder<Subject, Result>(
  subjects: AsyncIterable<Subject>,
  work: (subject: Subject) => Promise<Result>,
): AsyncGenerator<Result> {
  const begun: Promise<Result>[] = []
  for await (const subject of subjects) {
    const result = work(subject)
    // A failure is thrown when its turn comes. Until then, it must not count as unhandled.
    result.catch(() => {})
    begun.push(result)
    if (begun.length === readsAtOnce) yield begun.shift() as Promise<Result>
  }
  for (const result of begun) yield result
}

async function bytesOf(file: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const read: Uint8Array[] = []
  for await (const bytes of file) read.push(bytes)
  return Buffer.concat(read)
}
