import { importFolder, rejectFolder } from '../platform/formats/file-store.ts'
import type { Key } from '../platform/table/keys.ts'

/** A chunk of a file: whole rows, with no blank row at its start or end. */
export interface Chunk {
  /** Starts at 0. */
  index: number
  /** Byte offsets: `from` is inclusive, `to` exclusive. */
  from: number
  to: number
  /** The number of its first row. Rows are counted from 1, without the header. */
  row: number
  rows: number
}

/** The file keys of an operation. */
export const fileKey = (operationId: string) => `${importFolder}${operationId}/file.csv`
export const manifestKey = (operationId: string) => `${importFolder}${operationId}/chunks.json`
export const rejectsKey = (operationId: string) => `${rejectFolder}${operationId}/rejects.csv`
export const chunkRejectsKey = (operationId: string, index: number) =>
  `${rejectFolder}${operationId}/${chunkName(index)}.csv`

/** The partition of the completed chunks of an operation. */
export const chunkPartition = (operationId: string) => `import_chunk#${operationId}`
export const chunkKey = (operationId: string, index: number): Key => ({
  pk: chunkPartition(operationId),
  sk: chunkName(index),
})

function chunkName(index: number): string {
  return String(index).padStart(8, '0')
}
