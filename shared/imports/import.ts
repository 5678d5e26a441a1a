import { importFolder, rejectFolder } from '../platform/formats/file-store.ts'
import type { Key } from '../platform/table/keys.ts'

/**
 * The import of a file of customers, from the request to the result. Each function is named after what it does:
 *
 * 1. `createImport` stores the file and an operation, and answers 202. A message starts the workflow.
 * 2. `prepareImport` fetches a file that is sent as a URL, and splits the file into chunks.
 * 3. `importRows` imports the rows of one chunk. The workflow runs it for five chunks at a time.
 * 4. `endImport` gathers the rejected rows, and ends the operation with its result or its failure.
 *
 * A caller reads the operation at any time, and cancels it between two chunks. A step may run twice, with the effect of
 * one run. An operation whose workflow does not end it is ended by `endAbandoned`, which runs each minute.
 */
export const importSteps = {
  /** Its time limit covers the longest download that `fetchLimits` permits, and the split of the largest file. */
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
