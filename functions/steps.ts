import type { ImportStep } from '#shared/imports/import-steps.ts'
import type { Use } from '#shared/platform/request/route.ts'

/** A function that the import workflow invokes. */
export interface StepEntry {
  name: `imports.${string}`
  step: ImportStep
  folder: string
  description: string
  uses: readonly Use[]
  /** The impact of a failure on users, in a sentence: the text of its alarm. */
  impact: string
}

/** What it takes to end an operation. */
const ending = ['table.read', 'table.update', 'table.delete'] as const

/** The steps of the import workflow. lib/import-machine.ts defines their order. */
export const steps: readonly StepEntry[] = [
  {
    name: 'imports.prepare',
    step: 'prepare',
    folder: 'imports/prepare-import',
    description: 'Fetch, check and split a file',
    uses: [...ending, 'table.write', 'imports.write', 'imports.read'],
    impact: 'Imports fail before their first row.',
  },
  {
    name: 'imports.rows',
    step: 'rows',
    folder: 'imports/import-rows',
    description: 'Import the rows of a chunk',
    uses: ['table.read', 'table.write', 'table.update', 'table.insert', 'imports.read', 'rejects.write'],
    impact: 'Imports fail after a part of their rows.',
  },
  {
    name: 'imports.complete',
    step: 'complete',
    folder: 'imports/complete-import',
    description: 'Write the completion record of an import',
    uses: [...ending, 'table.query', 'rejects.read', 'rejects.write'],
    impact: 'Imports are reported as failed although their rows were imported.',
  },
  {
    name: 'imports.fail',
    step: 'fail',
    folder: 'imports/fail-import',
    description: 'Mark an import as failed',
    uses: ending,
    impact: 'Failed imports are reported as running until the sweeper ends them.',
  },
]
