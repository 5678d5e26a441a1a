import { RetentionDays } from 'aws-cdk-lib/aws-logs'
import type { ImportStep } from '#shared/imports/import-steps.ts'
import type { TaskQueue } from '#shared/platform/queue/tasks.ts'

/** How requests come to a new version of a function: a tenth of them first, or all at once. */
export type Rollout = 'canary' | 'at_once'

/**
 * How many executions of the functions that work on queues and imports may run at once. They are reserved: a flood of
 * such work never takes the share of the API in the account's quota of concurrent executions.
 */
export interface Concurrency {
  queues: Readonly<Record<TaskQueue, number>>
  steps: Readonly<Partial<Record<ImportStep, number>>>
}

/** What differs between the deployments of the service, beside their settings. */
export interface Stage {
  name: string
  /** Whether data outlives the stack. */
  keepsData: boolean
  /** Whether the table refuses to be deleted. */
  deletionProtection: boolean
  logRetention: RetentionDays
  /** Whether published events are kept for replay. */
  archivesEvents: boolean
  /** Whether what it stores lies under a key of the account's own, instead of those that AWS manages. */
  ownKey: boolean
  /** Whether a web ACL stands before the gateway. */
  filtersRequests: boolean
  /** Whether there are alarms, and a topic that carries them to people. */
  raisesAlarms: boolean
  /** Whether pages that are served on a developer's machine may call it, if the profile says so. */
  callableFromLocalhost: boolean
  /** Absent where functions are replaced in their place, and nothing goes back by itself. It needs the alarms. */
  rollout?: Rollout
  /** Absent where nothing is reserved. */
  concurrency?: Concurrency
  /** A fixed id of the REST API, where whoever runs the stage can choose one. */
  restApiId?: string
  /** What stands before a route's path in its public address, where the gateway cannot tell. */
  basePath?: string
}

const production: Omit<Stage, 'name'> = {
  keepsData: true,
  deletionProtection: true,
  logRetention: RetentionDays.SIX_MONTHS,
  archivesEvents: true,
  ownKey: true,
  filtersRequests: true,
  raisesAlarms: true,
  callableFromLocalhost: false,
  rollout: 'canary',
  concurrency: {
    queues: { webhooks: 50, mail: 20, mail_events: 10, password_resets: 5, imports: 5 },
    // The step that ends a failed import has none: it must always run.
    steps: { prepare: 20, rows: 100, complete: 20 },
  },
}

/** Every stage that can be deployed, as `commerce-<name>`. */
const stages: readonly Stage[] = [
  {
    name: 'local',
    keepsData: false,
    deletionProtection: false,
    logRetention: RetentionDays.ONE_DAY,
    // The local engine refuses a stack with an EventBridge archive.
    archivesEvents: false,
    ownKey: false,
    // It refuses to attach a web ACL to a stage.
    filtersRequests: false,
    // It refuses an alarm on a sum of metrics too, and there is nobody to call.
    raisesAlarms: false,
    callableFromLocalhost: true,
    // No rollout: it refuses CodeDeploy, too.
    // The engine takes this for the API's id, so that URLs stay the same from start to start.
    restApiId: 'c0ffee01',
    basePath: '/restapis/c0ffee01/local/_user_request_',
  },
  {
    name: 'dev',
    keepsData: false,
    deletionProtection: false,
    logRetention: RetentionDays.TWO_WEEKS,
    archivesEvents: true,
    ownKey: false,
    filtersRequests: true,
    raisesAlarms: true,
    callableFromLocalhost: true,
    rollout: 'at_once',
  },
  {
    // Equal to prod but for its size: what works here works there.
    ...production,
    name: 'staging',
    concurrency: {
      queues: { webhooks: 5, mail: 5, mail_events: 5, password_resets: 2, imports: 2 },
      steps: { prepare: 5, rows: 20, complete: 5 },
    },
  },
  { ...production, name: 'prod' },
]

/** Thrown for a stage that is not known, with one sentence. */
export class StageError extends Error {
  override name = 'StageError'
}

/** @throws StageError with one sentence that names the stages there are */
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
