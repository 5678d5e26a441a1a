import { importSteps } from '#shared/imports/import.ts'
import { importRows } from '#shared/imports/import-rows.ts'
import { workflowFunction } from '#shared/platform/aws/workflow-function.ts'

export const work = importRows
export const handler = workflowFunction(work, importSteps.rows.seconds)
