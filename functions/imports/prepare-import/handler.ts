import { importSteps } from '#shared/imports/import-steps.ts'
import { prepareImport } from '#shared/imports/prepare-import.ts'
import { deployedStep } from '#shared/platform/steps/step.ts'

export const work = prepareImport
export const handler = deployedStep(work, importSteps.prepare.seconds)
