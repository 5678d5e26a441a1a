import { importFolder, rejectFolder } from '../platform/files/file-store.ts'
import type { Key } from '../platform/table/keys.ts'

/** A piece of a file: some whole rows, none of them blank before the first or after the last. */
export interface Chunk {
  /** Counts from 0. */
  index: number
  /** Its first byte, and the one behind its last. */
  from: number
  to: number
  /** The number of its first row, without the header, from 1. */
  row: number
  rows: number
  /** One row that is too long to be read. */
  too_long?: true
}

/** Where the files of an operation lie. */
export const fileKey = (operationId: string) => `${importFolder}${operationId}/file.csv`
export const manifestKey = (operationId: string) => `${importFolder}${operationId}/chunks.json`
export const rejectsKey = (operationId: string) => `${rejectFolder}${operationId}/rejects.csv`
export const chunkRejectsKey = (operationId: string, index: number) =>
  `${rejectFolder}${operationId}/${chunkName(index)}.csv`

/** The partition in which the chunks of an operation lie that are done. */
export const chunksOf = (operationId: string) => `import_chunk#${operationId}`
export const chunkKey = (operationId: string, index: number): Key => ({
  pk: chunksOf(operationId),
  sk: chunkName(index),
})

function chunkName(index: number): string {
  return String(index).padStart(8, '0')
}
