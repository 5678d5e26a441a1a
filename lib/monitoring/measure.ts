import type { Duration } from 'aws-cdk-lib'
import type { RestApi } from 'aws-cdk-lib/aws-apigateway'
import type { MathExpression, Metric } from 'aws-cdk-lib/aws-cloudwatch'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import type { IQueue } from 'aws-cdk-lib/aws-sqs'
import type { StateMachine } from 'aws-cdk-lib/aws-stepfunctions'
import type { Settings } from '#shared/settings/register.ts'
import type { Backups } from '../data/backups.ts'
import type { DataTable } from '../data/data-table.ts'
import type { WorkQueues } from '../messages/queues.ts'
import type { Stage } from '../stage.ts'

/** The monitored resources: the gateway, and the functions and queues by operation, subscription or step. */
export interface Watched {
  stage: Stage
  settings: Settings
  api: RestApi
  functions: ReadonlyMap<string, LambdaFunction>
  deadLetters: ReadonlyMap<string, IQueue>
  queues: WorkQueues
  table: DataTable
  /** Present on a stage with backups of the table. */
  backups?: Backups | undefined
  /** The import workflow. */
  machine: StateMachine
}

/** A value that alarms compare with a limit. */
export interface Measure {
  /** The sentence part that names it in the runbook. */
  text: string
  /** The graph of the dashboard that shows it, and its line there. */
  graph: string
  label: string
  /** Five minutes unless given. */
  period?: Duration
  /** Returns undefined on a stage without the measured resource. */
  metric(watched: Watched): AnyMetric | undefined
}

type AnyMetric = Metric | MathExpression
