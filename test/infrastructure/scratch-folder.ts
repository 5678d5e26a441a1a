import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'

/** Creates a folder for the output of a synthesis, which is deleted after the run of the tests. */
export function scratchFolder(): string {
  return mkdtempSync(join(synthesesFolder(), 'scratch-'))
}

/** Where this run of the tests keeps its templates. */
export function synthesesFolder(): string {
  const folder = process.env.SYNTHESES
  if (!folder) throw new Error('SYNTHESES is not set: run the tests through jest, which sets it.')
  return folder
}
