import { pascalCase } from '../function-entries.ts'
import type { Measure } from './measure.ts'

/** `page`: someone acts now, at any hour. `ticket`: someone acts on the next working day. */
export type Severity = 'page' | 'ticket'

/** An alarm that notifies people. */
export interface AlarmDefinition {
  /** The id in PascalCase. The name of the alarm ends with it (see `alarmName`). */
  id: string
  severity: Severity
  /** The impact on users, in one sentence. */
  impact: string
  /** The response, in one or two sentences. Impact and response are the description of the alarm. */
  act: string
  queries?: readonly LogQuery[]
  /** STACK is the name of the stack, T a tenant. */
  commands?: readonly string[]
  /** The conditions, which must all be met. The first one decides on the stack of the alarm. */
  thresholds: readonly [Threshold, ...Threshold[]]
}

/** The limit of a measure over `periods` in a row, by default one. */
export type Threshold = {
  measure: Measure
  periods?: number
  /** Distinguishes the thresholds of an alarm that has several. */
  window?: 'Long' | 'Short'
} & (
  | { above: number; below?: undefined }
  /** Missing data breaches the limit: nothing was measured because nothing ran. */
  | { below: number; above?: undefined }
)

/**
 * A CloudWatch Logs Insights query. `group` is the logical id of its log group without the hash. CloudFormation
 * prefixes the id with the name of the stack and then of the nested stack, if any.
 */
export interface LogQuery {
  group: string
  query: string
}

/**
 * Returns a name such as `commerce-prod-page-OrdersCreateBurnsFast`. The policies of the topics and of the key allow
 * these names.
 */
export function alarmName(stage: string, audience: Severity | 'silent', id: string): string {
  return `commerce-${stage}-${audience}-${id}`
}

export const rollback = 'npx commerce rollback --stack STACK'
export const lastDeployment = 'If it began with a deployment, roll back with npx commerce rollback.'
export const ledger = 'npx commerce ledger list --tenant T --stack STACK'
export const listExecutions =
  'aws stepfunctions list-executions --state-machine-arn IMPORT_MACHINE_ARN --status-filter'

/** Returns the query for the failures that a function logs. */
export function errorsInLog(functionName: string): LogQuery[] {
  const query =
    'fields @timestamp, code, fault.name, fault.at.0 | filter level = "ERROR" | sort @timestamp desc'
  return [{ group: `${pascalCase(functionName)}Log`, query }]
}
