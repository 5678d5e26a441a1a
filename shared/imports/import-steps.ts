/** The time limits of the import steps, in seconds. Their functions have `graceSeconds` more. */
export const importSteps = {
  /** Covers the longest download that `imports.fetch` permits, and the split of the largest file. */
  prepare: { seconds: 840 },
  /** Covers some hundred rows while the table is busy. */
  rows: { seconds: 110 },
  /** Covers the rejects of thousands of chunks. */
  complete: { seconds: 840 },
  fail: { seconds: 25 },
} as const

export type ImportStep = keyof typeof importSteps

/** The extra time of a step's function, in seconds, to end the operation and report the error. */
export const graceSeconds = 5
