import { failImport } from '#shared/imports/end-import.ts'
import { importSteps } from '#shared/imports/import-steps.ts'
import { deployedStep } from '#shared/platform/steps/step.ts'

export const work = failImport
export const handler = deployedStep(work, importSteps.fail.seconds)
