import { importRows } from '#shared/imports/import-rows.ts'
import { importSteps } from '#shared/imports/import-steps.ts'
import { deployedStep } from '#shared/platform/steps/step.ts'

export const work = importRows
export const handler = deployedStep(work, importSteps.rows.seconds)
