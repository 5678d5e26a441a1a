/** How long the steps of an import may take, in seconds; their functions have a little more. */
export const importSteps = {
  /** A file of the largest size from a slow host. */
  prepare: { seconds: 840 },
  /** Some hundred rows from a busy table. */
  rows: { seconds: 110 },
  /** The rejects of thousands of chunks. */
  complete: { seconds: 840 },
  fail: { seconds: 25 },
} as const

export type ImportStep = keyof typeof importSteps

/** What the function of a step has beyond the step's own time, in seconds: to say that it was too little. */
export const graceSeconds = 5
