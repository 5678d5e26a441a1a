import { endImport } from '#shared/imports/end-import.ts'
import { importSteps } from '#shared/imports/import.ts'
import { workflowFunction } from '#shared/platform/aws/workflow-function.ts'

export const work = endImport
export const handler = workflowFunction(work, importSteps.end.seconds)
