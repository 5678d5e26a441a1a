import { startImport } from '#shared/imports/start-import.ts'
import { queueFunction } from '#shared/platform/aws/queue-function.ts'
import { stepFunctions } from '#shared/platform/aws/step-functions.ts'

/** Starts the workflow of an import. */
export const handler = queueFunction(
  { queue: 'imports', failure: 'IMPORT_NOT_STARTED' },
  (body, { environment }) => startImport(body, stepFunctions(environment('IMPORT_MACHINE_ARN') ?? '')),
)
