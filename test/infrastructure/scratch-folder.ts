import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const parent = mkdtempSync(join(tmpdir(), 'commerce-syntheses-'))
process.once('exit', () => rmSync(parent, { recursive: true, force: true }))

/** Creates a folder for the output of a synthesis, which is deleted when this process exits. */
export function scratchFolder(): string {
  return mkdtempSync(join(parent, 'scratch-'))
}
