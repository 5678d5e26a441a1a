import { importRows } from '#shared/imports/import-rows.ts'
import { importSteps } from '#shared/imports/import-steps.ts'
import { workflowFunction } from '#shared/platform/aws/workflow-function.ts'

export const work = importRows
export const handler = workflowFunction(work, importSteps.rows.seconds)
