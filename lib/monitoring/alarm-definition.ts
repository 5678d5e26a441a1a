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
 * prefixes the id with the name of the stack and then of the nested stack, if any. A log group with a fixed name has
 * that instead, as `name`.
 */
export type LogQuery = { query: string } & (
  | { group: string; name?: undefined }
  | { name: string; group?: undefined }
)

/**
 * Returns a name such as `commerce-prod-page-OrdersCreateBurnsFast`. The policies of the topics and of the key allow
 * these names.
 */
export function alarmName(stage: string, audience: Severity | 'silent', id: string): string {
  return `commerce-${stage}-${audience}-${id}`
}

export const rollback = 'npx commerce rollback --stack STACK'
/** The response to an alarm that a freeze raises begins with it. */
export const duringFreeze =
  'During a freeze this is expected: change nothing, npx commerce unfreeze ends it. Otherwise'
export const lastDeployment = 'If it began with a deployment, roll back with npx commerce rollback.'
export const ledger = 'npx commerce ledger list --tenant T --stack STACK'
export const listExecutions =
  'aws stepfunctions list-executions --state-machine-arn IMPORT_MACHINE_ARN --status-filter'

/**
 * The condition of the lines that Lambda itself writes about a function that failed: one with the thrown error, and lines
 * without fields about a timeout or the end of its process.
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_AnalyzeLogData-discoverable-fields.html
 */
const crashed = 'ispresent(errorType) or @message like /Invoke Error|Task timed out|Runtime exited/'

/** Returns the query for the failures that a function logs, and for its crashes. */
export function errorsInLog(functionName: string): LogQuery[] {
  const query = `fields @timestamp, code, fault.name, fault.at.0, errorType, @message | filter level = "ERROR" or ${crashed} | sort @timestamp desc`
  return [{ group: `${pascalCase(functionName)}Log`, query }]
}

/** Returns the query for the crashes of a function, which logs nothing about them itself. */
export function crashesInLog(functionName: string): LogQuery {
  const query = `fields @timestamp, errorType, @message | filter ${crashed} | sort @timestamp desc`
  return { group: `${pascalCase(functionName)}Log`, query }
}
