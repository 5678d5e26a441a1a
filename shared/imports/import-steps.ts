/** The time limits of the import steps, in seconds. Their functions have `graceSeconds` more. */
export const importSteps = {
  /** Covers the longest download that `fetchLimits` permits, and the split of the largest file. */
  prepare: { seconds: 840 },
  /** Covers some hundred rows while the table is busy. */
  rows: { seconds: 110 },
  /** Covers the rejects of thousands of chunks. */
  complete: { seconds: 840 },
  fail: { seconds: 25 },
} as const

export type ImportStep = keyof typeof importSteps

/**
 * How many chunks of one import are processed at the same time. With five imports, which is what a tenant may have, they hold a
 * quarter of the functions that a stage reserves for rows.
 */
export const chunksAtOnce = 5

/** The extra time of a step's function, in seconds, to end the operation and report the error. */
export const graceSeconds = 5
