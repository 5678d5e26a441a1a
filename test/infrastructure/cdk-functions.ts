/** The functions that `inCdkProcess` runs. */
export { granted } from './granted-permissions.ts'
export { nagFindings } from './nag-findings.ts'
export { stageTemplates } from './stage-templates.ts'
export { templateErrors } from './template-errors.ts'
