import { pascalCase } from '../functions/function-names.ts'
import type { Measure } from './measure.ts'
import { crashed, type SavedQuery } from './saved-queries.ts'

/** What an operator reads about a failure. */
interface Advice {
  /** In PascalCase. The name of the alarm ends with it (see `alarmName`). */
  id: string
  /** The impact on users, in one sentence. */
  impact: string
  /** The response, in one or two sentences. Impact and response are the description of the alarm. */
  act: string
  queries?: readonly LogQuery[]
  /** Commands that find the cause. STACK is the name of the stack, T a tenant. */
  commands?: readonly string[]
  /** Commands of the response, which change something. */
  fixes?: readonly string[]
}

/** An alarm, which wakes somebody: for what cannot wait until the morning. */
export interface AlarmDefinition extends Advice {
  threshold: Threshold
}

/** What somebody looks at on a working day: a graph of the dashboard, and mostly a query. It has no alarm. */
export interface Look extends Advice {
  graph: string
  /** What the graph shows for it, if it is one of `sharedGraphs`. */
  shows?: readonly Measure[]
}

/** The limit of a measure over `periods` in a row, by default one. */
export type Threshold = { measure: Measure; periods?: number } & (
  | { above: number; below?: undefined }
  /** Missing data breaches the limit: nothing was measured because nothing ran. */
  | { below: number; above?: undefined }
)

/**
 * A CloudWatch Logs Insights query. `group` is the logical id of its log group without the hash. CloudFormation
 * prefixes the id with the name of the stack and then of the nested stack, if any. A log group with a fixed name has
 * that instead, as `name`. A saved query has its log groups itself.
 */
export type LogQuery =
  | { group: string; query: string }
  | { name: string; query: string }
  | { saved: SavedQuery; query: string }

/** Returns a name such as `commerce-prod-OrdersCreateFailing`. The policies of the topic and of the key allow these names. */
export function alarmName(stage: string, id: string): string {
  return `commerce-${stage}-${id}`
}

export const rollback = 'npx commerce rollback --stack STACK'
/** The response to an alarm that a freeze raises begins with it. */
export const duringFreeze =
  'During a freeze this is expected: change nothing, npx commerce unfreeze ends it. Otherwise'
export const lastDeployment = 'If it began with a deployment, roll back with npx commerce rollback.'
export const ledger = 'npx commerce refunds list --tenant T --stack STACK'
export const listExecutions =
  'aws stepfunctions list-executions --state-machine-arn IMPORT_MACHINE_ARN --status-filter'

/** Returns the query for the failures that a function logs, and for its crashes. */
export function errorsInLog(functionName: string): LogQuery[] {
  const query = `fields @timestamp, code, fault.name, fault.at.0, errorType, @message | filter level = "ERROR" or ${crashed} | sort @timestamp desc`
  return [{ group: `${pascalCase(functionName)}Log`, query }]
}

/** Returns a saved query, narrowed by a further condition. */
export function savedFor(saved: SavedQuery, condition?: string): LogQuery {
  const { lines } = saved
  return { saved, query: (condition === undefined ? lines : [condition, ...lines]).join(' | ') }
}
