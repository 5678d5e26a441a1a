import { importFolder, rejectFolder } from '../platform/formats/file-store.ts'
import type { Key } from '../platform/table/keys.ts'

/** The steps of the workflow in their order, with their time limits. Their functions have `graceSeconds` more. */
export const importSteps = {
  /** Covers the longest download that `fetchLimits` permits, and the split of the largest file. */
  prepare: { seconds: 840 },
  /** Covers some hundred rows while the table is busy. */
  rows: { seconds: 110 },
  /** Covers the rejected rows of thousands of chunks. */
  end: { seconds: 840 },
} as const

export type ImportStep = keyof typeof importSteps

/** The extra time of a step's function, in seconds, to end the operation and report the error. */
export const graceSeconds = 5

/**
 * How many chunks of one import are processed at the same time. With five imports, which is what a tenant may have, they hold a
 * quarter of the functions that a stage reserves for rows.
 */
export const chunksAtOnce = 5

/** The key of the file of an import. */
export const fileKey = (operationId: string) => `${importFolder}${operationId}/file.csv`

/** The key of the file of its rejected rows, which callers download. */
export const rejectsKey = (operationId: string) => `${rejectFolder}${operationId}/rejects.csv`

/** The partition of the items of its chunks that are done. They sort by the order of the file. */
export const chunkPartition = (operationId: string) => `import_chunk#${operationId}`

export const chunkKey = (operationId: string, index: number): Key => ({
  pk: chunkPartition(operationId),
  sk: String(index).padStart(8, '0'),
})
