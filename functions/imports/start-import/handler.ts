import type { OperationRef } from '#shared/operations/operation-store.ts'
import { queueFunction } from '#shared/platform/aws/queue-function.ts'
import { stepFunctions } from '#shared/platform/aws/step-functions.ts'

/** Starts the workflow of an import. The workflow is named by the operation, so a repeated message starts it once. */
export const handler = queueFunction(
  { queue: 'imports', failure: 'IMPORT_NOT_STARTED' },
  async (body, { environment }) => {
    const { tenant, operation_id }: OperationRef = JSON.parse(body)
    const workflow = stepFunctions(environment('IMPORT_MACHINE_ARN') ?? '')
    await workflow.start(operation_id, { tenant, operation_id })
  },
)
