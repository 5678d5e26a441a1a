import * as v from 'valibot'
import { OperationRef } from '../operations/operation-store.ts'
import type { Workflow } from '../platform/jobs/workflow.ts'

/**
 * Starts the workflow of the import that a message names. The workflow is named by the operation, so a repeated message
 * starts it once.
 */
export async function startImport(body: string, workflow: Pick<Workflow, 'start'>): Promise<void> {
  const ref = v.parse(OperationRef, JSON.parse(body))
  await workflow.start(ref.operation_id, ref)
}
