import type { OperationRef } from '#shared/operations/operation-store.ts'
import { queueConsumer } from '#shared/platform/queue/queue-consumer.ts'
import { stepFunctions } from '#shared/platform/workflow/step-functions.ts'

/** Starts the workflow of an import. The workflow is named by the operation, so a repeated message starts it once. */
export const handler = queueConsumer('imports', 'IMPORT_NOT_STARTED', async (body) => {
  const { tenant, operation_id }: OperationRef = JSON.parse(body)
  await stepFunctions(process.env.IMPORT_MACHINE_ARN ?? '').start(operation_id, { tenant, operation_id })
})
