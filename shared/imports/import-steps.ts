/** How long the steps of an import may take, in seconds; their functions have a little more. */
export const importSteps = {
  /** The longest download that `imports.fetch` permits, and the split of the largest file. */
  prepare: { seconds: 840 },
  /** Some hundred rows from a busy table. */
  rows: { seconds: 110 },
  /** The rejects of thousands of chunks. */
  complete: { seconds: 840 },
  fail: { seconds: 25 },
} as const

export type ImportStep = keyof typeof importSteps

/** The time of a step's function beyond that of the step, in seconds: to end the operation and to report the error. */
export const graceSeconds = 5
