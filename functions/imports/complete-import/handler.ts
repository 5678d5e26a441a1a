import { completeImport } from '#shared/imports/end-import.ts'
import { importSteps } from '#shared/imports/import-steps.ts'
import { workflowFunction } from '#shared/platform/aws/workflow-function.ts'

export const work = completeImport
export const handler = workflowFunction(work, importSteps.complete.seconds)
