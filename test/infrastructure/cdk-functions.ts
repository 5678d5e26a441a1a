/** The functions that `inCdkProcess` runs. */
export { nagFindings } from './nag-findings.ts'
export { stageTemplates } from './stage-templates.ts'
export { templateErrors } from './template-errors.ts'
