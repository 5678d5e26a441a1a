import { RetentionDays } from 'aws-cdk-lib/aws-logs'
import type { Settings } from '#shared/settings/register.ts'

/** How traffic shifts to a new version of a function: a tenth first and watched by an alarm, or all at once. */
type Rollout = 'canary' | 'at_once'

/**
 * Reserved concurrency by the name of the function, which is also its maximum. A burst or a partner that hangs takes
 * only the slots of that function, not the account's quota. Other functions share what is left of it.
 */
export type Concurrency = Readonly<Record<string, number>>

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
  /** Whether its alarms wake somebody, and a web ACL protects it (see `hasAlarms` and `hasWebAcl`). */
  wakes: boolean
  /** Absent where functions have no versions. */
  rollout?: Rollout
  /** Absent where no concurrency is reserved. Those of deliveries come from the settings (see `reservedConcurrency`). */
  concurrency?: Concurrency
  /** A fixed id of the REST API, where the operator of the stage can choose one. */
  restApiId?: string
  /** The prefix of a route's path in its public address, where the gateway does not report it. */
  basePath?: string
}

/**
 * A function that reads the table's stream runs ten times for each shard, and a new table has four shards. More waits
 * in the stream, which an alarm on its age reports.
 */
const streams = { 'events.relay': 40, 'tasks.enqueue': 40 }

/** One tenant's imports hold a quarter of them at most (see check-concurrency.ts). */
const stepLimits = { 'imports.prepare': 20, 'imports.rows': 100, 'imports.end': 20 }

const production: Omit<Stage, 'name'> = {
  keepsData: true,
  onAws: true,
  wakes: true,
  logRetention: RetentionDays.SIX_MONTHS,
  rollout: 'canary',
  concurrency: {
    // They call partners, or work for seconds. The gateway throttles logins, which anyone may try, below their slots.
    'refunds.create': 100,
    'login.sign-in': 100,
    'login.add-claims': 50,
    'codes.export': 40,
    'codes.import': 40,
    'imports.create': 20,
    ...streams,
    'webhooks.handle': 50,
    'otp.send': 20,
    'otp.record-delivery': 10,
    'login.send-reset': 5,
    'imports.start': 5,
    'refunds.reconcile': 5,
    ...stepLimits,
    'platform.unknown-route': 10,
  },
}

/** Every stage that can be deployed, as `commerce-<name>`. */
const stages: readonly Stage[] = [
  {
    name: 'local',
    keepsData: false,
    onAws: false,
    wakes: false,
    logRetention: RetentionDays.ONE_DAY,
    // The engine uses this value as the API's id, so URLs stay the same across starts.
    restApiId: 'c0ffee01',
    basePath: '/restapis/c0ffee01/local/_user_request_',
  },
  {
    name: 'dev',
    keepsData: false,
    onAws: true,
    wakes: false,
    logRetention: RetentionDays.TWO_WEEKS,
    rollout: 'at_once',
  },
  {
    // Equal to prod except for its size, so a change that works here works there.
    ...production,
    name: 'staging',
    concurrency: {
      'refunds.create': 10,
      'login.sign-in': 100,
      'login.add-claims': 50,
      'codes.export': 5,
      'codes.import': 5,
      'imports.create': 5,
      ...streams,
      'webhooks.handle': 5,
      'otp.send': 5,
      'otp.record-delivery': 5,
      'login.send-reset': 2,
      'imports.start': 2,
      'refunds.reconcile': 2,
      ...stepLimits,
      'platform.unknown-route': 10,
    },
  },
  { ...production, name: 'prod' },
]

/**
 * Returns the reserved concurrency of all functions of a stage. A batch takes 40 % as long to fan out as to send, whatever the
 * load, if calls take 100 ms.
 */
export function reservedConcurrency({ concurrency }: Stage, settings: Settings): Concurrency | undefined {
  const senders = settings['deliveries.senders']
  return (
    concurrency && {
      ...concurrency,
      'deliveries.create': Math.ceil(0.4 * senders),
      'deliveries.send': senders,
    }
  )
}

/** The names of all stages. */
export const stageNames = stages.map(({ name }) => name)

/** An unknown stage, reported in one sentence. */
export class StageError extends Error {
  override name = 'StageError'
}

/** @throws StageError with one sentence that names the known stages */
export function stageNamed(name: unknown): Stage {
  const stage = stages.find((one) => one.name === name)
  if (stage) return stage
  const known = stageNames.join(', ')
  throw new StageError(
    name === undefined
      ? `no stage given: choose one of ${known} with -c stage=NAME`
      : `there is no stage '${name}': choose one of ${known} with -c stage=NAME`,
  )
}

/**
 * Whether a stage has alarms, a dashboard, and the metrics that they read. A stage that wakes nobody has none, because they
 * are most of its bill.
 */
export function hasAlarms({ onAws, wakes }: Stage, settings: Settings): boolean {
  return onAws && (wakes || settings['stages.dev'].alarms)
}

/** Whether a stage has web ACLs for its gateway and its user pool. */
export function hasWebAcl({ onAws, wakes }: Stage, settings: Settings): boolean {
  return onAws && (wakes || settings['stages.dev'].webAcl)
}

/** Returns the name of a stage's deployment, which is that of its stack in every region. */
export function deploymentName({ name }: Pick<Stage, 'name'>): string {
  return `commerce-${name}`
}

/** Returns the namespace of a stage's metrics (see shared/platform/base/metrics.ts). */
export function metricsNamespace({ name }: Stage): string {
  return `commerce-${name}`
}

/** Returns the name of the gateway's web ACL in its metrics. */
export function webAclMetric({ name }: Stage): string {
  return `commerce-${name}`
}
