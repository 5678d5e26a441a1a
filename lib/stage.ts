import { RetentionDays } from 'aws-cdk-lib/aws-logs'
import type { ImportStep } from '#shared/imports/import-steps.ts'
import type { TaskQueue } from '#shared/platform/events/outbox.ts'

/** How traffic shifts to a new version of a function: a tenth first, or all at once. */
export type Rollout = 'canary' | 'at_once'

/**
 * Reserved concurrency of the functions that work on queues and imports. A flood of such work never takes the API's
 * share of the account's quota of concurrent executions.
 */
export interface Concurrency {
  queues: Readonly<Record<TaskQueue, number>>
  steps: Readonly<Partial<Record<ImportStep, number>>>
}

/** The differences between the deployments of the service, except their settings. */
export interface Stage {
  name: string
  /**
   * Whether it holds data of customers. Such data outlives the stack, cannot be deleted by accident, is backed up and is
   * encrypted with a key of the account.
   */
  keepsData: boolean
  /**
   * Whether it runs on AWS. The local engine rejects a stack with an EventBridge archive, the web ACL of a stage, an
   * alarm on a sum of metrics, or CodeDeploy.
   */
  onAws: boolean
  logRetention: RetentionDays
  /** Absent where functions are replaced at once, without automatic rollback. It requires alarms. */
  rollout?: Rollout
  /** Absent where no concurrency is reserved. */
  concurrency?: Concurrency
  /** A fixed id of the REST API, where the operator of the stage can choose one. */
  restApiId?: string
  /** The prefix of a route's path in its public address, where the gateway does not report it. */
  basePath?: string
}

const production: Omit<Stage, 'name'> = {
  keepsData: true,
  onAws: true,
  logRetention: RetentionDays.SIX_MONTHS,
  rollout: 'canary',
  concurrency: {
    queues: { webhooks: 50, mail: 20, mail_events: 10, password_resets: 5, imports: 5 },
    // The step that ends a failed import has no limit, because it must always run.
    steps: { prepare: 20, rows: 100, complete: 20 },
  },
}

/** Every stage that can be deployed, as `commerce-<name>`. */
const stages: readonly Stage[] = [
  {
    name: 'local',
    keepsData: false,
    onAws: false,
    logRetention: RetentionDays.ONE_DAY,
    // The engine uses this value as the API's id, so URLs stay the same across starts.
    restApiId: 'c0ffee01',
    basePath: '/restapis/c0ffee01/local/_user_request_',
  },
  { name: 'dev', keepsData: false, onAws: true, logRetention: RetentionDays.TWO_WEEKS, rollout: 'at_once' },
  {
    // Equal to prod except for its size, so a change that works here works there.
    ...production,
    name: 'staging',
    concurrency: {
      queues: { webhooks: 5, mail: 5, mail_events: 5, password_resets: 2, imports: 2 },
      steps: { prepare: 5, rows: 20, complete: 5 },
    },
  },
  { ...production, name: 'prod' },
]

/** An unknown stage, reported in one sentence. */
export class StageError extends Error {
  override name = 'StageError'
}

/** @throws StageError with one sentence that names the known stages */
export function stageNamed(name: unknown): Stage {
  const stage = stages.find((one) => one.name === name)
  if (stage) return stage
  const known = stages.map((one) => one.name).join(', ')
  throw new StageError(
    name === undefined
      ? `no stage given: choose one of ${known} with -c stage=NAME`
      : `there is no stage '${name}': choose one of ${known} with -c stage=NAME`,
  )
}

/** Returns the namespace of a stage's metrics (see shared/platform/base/embedded-metric.ts). */
export function metricsNamespace({ name }: Stage): string {
  return `commerce-${name}`
}
