import type { ImportStep } from '#shared/imports/import.ts'
import type { Use } from '#shared/platform/request/route.ts'
import type { TableUse } from '#shared/platform/table/table.ts'

/** A function that the import workflow invokes. */
export interface StepEntry {
  name: `imports.${string}`
  step: ImportStep
  folder: string
  description: string
  uses: readonly Use[]
  /** What it reads and writes in the table. */
  table: TableUse
  /** The impact of a failure on users, in a sentence: the text of its alarm. */
  impact: string
}

/** What it takes to end an operation. */
const ending = {
  get: ['operation', 'operation_count'],
  put: ['failed-operation'],
  update: ['operation', 'operation_count'],
  delete: ['pending-operation'],
} as const satisfies TableUse

/** The steps of the import workflow. lib/imports/import-definition.ts defines their order. */
export const steps: readonly StepEntry[] = [
  {
    name: 'imports.prepare',
    step: 'prepare',
    folder: 'imports/prepare-import',
    description: 'Fetch, check and split a file',
    uses: ['imports.write', 'imports.read'],
    table: {
      ...ending,
      get: [...ending.get, 'file_reservation'],
      put: [...ending.put, 'file_reservation'],
    },
    impact: 'Imports fail before their first row.',
  },
  {
    name: 'imports.rows',
    step: 'rows',
    folder: 'imports/import-rows',
    description: 'Import the rows of a chunk',
    uses: ['imports.read'],
    table: {
      get: ['import_chunk', 'import_rate', 'operation'],
      put: ['customer', 'import_chunk', 'import_rate'],
      update: ['operation'],
      insert: ['customer'],
    },
    impact: 'Imports fail after a part of their rows.',
  },
  {
    name: 'imports.end',
    step: 'end',
    folder: 'imports/end-import',
    description: 'End an import with its result or its failure',
    uses: ['rejects.write'],
    table: { ...ending, query: ['import_chunk'] },
    impact: 'Imports end late and as failed, although their rows were imported.',
  },
]
