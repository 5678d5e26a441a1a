import { importSteps } from '#shared/imports/import.ts'
import { prepareImport } from '#shared/imports/prepare-import.ts'
import { workflowFunction } from '#shared/platform/aws/workflow-function.ts'

export const work = prepareImport
export const handler = workflowFunction(work, importSteps.prepare.seconds)
