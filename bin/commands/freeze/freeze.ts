import { CloudFormationClient } from '@aws-sdk/client-cloudformation'
import { CloudWatchClient, GetMetricStatisticsCommand } from '@aws-sdk/client-cloudwatch'
import {
  DeleteFunctionConcurrencyCommand,
  GetFunctionCommand,
  LambdaClient,
  PutFunctionConcurrencyCommand,
} from '@aws-sdk/client-lambda'
import { SchedulerClient } from '@aws-sdk/client-scheduler'
import { paginateListExecutions, SFNClient } from '@aws-sdk/client-sfn'
import { route as createOrder } from '#functions/orders/create-order/route.ts'
import { route as listOrders } from '#functions/orders/list-orders/route.ts'
import { steps } from '#functions/steps.ts'
import { type Freeze, pausedConsumers, stoppedFunctions, streamConsumers } from '#lib/functions/freeze.ts'
import { pascalCase } from '#lib/functions/function-names.ts'
import { stageNamed } from '#lib/stage.ts'
import { type Clock, systemClock, timestamp } from '#shared/platform/base/clock.ts'
import type { Report } from '../../cli/output.ts'
import type { DeployedStack } from '../stack/deployment.ts'
import { reach } from '../stack/reach.ts'
import { functionNamesOf, stackResources } from '../stack/stack-resources.ts'
import { type Consumer, type ConsumerTrigger, mappingAt, pauseConsumer, resume } from './consumers.ts'
import { removeProvisioned, restoreProvisioned } from './provisioned-concurrency.ts'

/** The access of `freeze` and `unfreeze` to a deployment. */
export interface FrozenStack {
  /** `commerce-<stage>`. */
  name: string
  cloudFormation: CloudFormationClient
  lambda: LambdaClient
  scheduler: SchedulerClient
  stepFunctions: SFNClient
  cloudWatch: CloudWatchClient
  clock: Pick<Clock, 'now' | 'sleep'>
}

/** The result of a freeze. */
export interface Frozen {
  frozen: Freeze
  /** After this time nothing is written. Denials are, while reads go on. */
  time: string
  /** The imports that were running. They wait for the end of the freeze, up to their time limit. */
  running_imports: string[]
}

const pollMilliseconds = 2000
/** Lambda applies a limit, and disables a mapping, within seconds. */
const effectMilliseconds = 180_000
/** CloudWatch reports an invocation within this time. */
const quietMilliseconds = 180_000
const drainMilliseconds = 1_800_000

/** Returns the access to the stack of this name. */
export function frozenStack(name: string, { access }: Pick<DeployedStack, 'access'>): FrozenStack {
  // Lambda takes 15 changes per second of an account, so some are repeated.
  const patient = { ...access, maxAttempts: 10 }
  return {
    name,
    cloudFormation: new CloudFormationClient(access),
    lambda: new LambdaClient(patient),
    scheduler: new SchedulerClient(patient),
    stepFunctions: new SFNClient(access),
    cloudWatch: new CloudWatchClient(access),
    clock: systemClock,
  }
}

/**
 * Stops the changes of the table, or all requests. It can be repeated, and `all` can follow `writes`.
 * @returns when the calls in flight have ended, a request was refused and, for `all`, the table's stream is drained
 * @throws Error if that does not happen in time; the freeze stays. Error if `writes` shall follow `all`: only `unfreeze` opens reads
 */
export async function freeze(
  stack: FrozenStack,
  { mode, baseUrl, report = () => {} }: { mode: Freeze; baseUrl: string; report?: Report },
): Promise<Frozen> {
  const { lambda, clock } = stack
  const parts = await partsOf(stack)
  const stopped = [...stoppedFunctions(mode)]
  const [reader] = [...stoppedFunctions('all')].filter((name) => !stopped.includes(name))
  if (reader !== undefined && (await isStopped(reader)))
    throw new Error('reads are stopped, too: run unfreeze before freeze --writes')
  report(`stopping ${stopped.length} functions`)
  let left = stopped
  const areStopped = async () => {
    const refused: string[] = []
    for (const name of left) if (!(await stop(parts.functionName(name)))) refused.push(name)
    left = refused
    return left.length === 0
  }
  // Most functions stop at once. Lambda refuses a reserved concurrency below the provisioned one, also while it removes
  // that.
  await areStopped()
  for (const name of stopped) await removeProvisioned(parts.functionName(name), lambda)
  await waitUntil(
    areStopped,
    effectMilliseconds,
    clock,
    'functions with provisioned concurrency cannot be stopped yet',
  )
  for (const consumer of parts.consumers) await pauseConsumer(consumer, stack)
  for (const { physicalId: mapping, isMapping } of parts.consumers.flatMap(({ triggers }) => triggers)) {
    const isDisabled = async () => !isMapping || (await mappingAt(mapping, stack)).State === 'Disabled'
    await waitUntil(isDisabled, effectMilliseconds, clock, `the mapping ${mapping} is not yet disabled`)
  }
  const running = await runningImports(parts.machine, stack)
  const isRunning = running.length > 0
  const inFlight = [...stopped, ...pausedConsumers.map(({ name }) => name)].filter(
    (name) => isRunning || !steps.some((step) => step.name === name),
  )
  const seconds = Math.max(...(await Promise.all(inFlight.map((name) => timeoutOf(name)))))
  report('waiting for a request to be refused')
  await untilRefused(mode, baseUrl, clock)
  report(`waiting ${seconds} s for calls in flight`)
  await clock.sleep(seconds * 1000)
  await untilRefused(mode, baseUrl, clock)
  const time = timestamp(clock.now())
  if (mode === 'all') {
    report('waiting until all changes are published')
    for (const { name } of streamConsumers) await untilDrained(name)
  }
  return { frozen: mode, time, running_imports: running }

  async function isStopped(name: string): Promise<boolean> {
    const FunctionName = parts.functionName(name)
    const { Concurrency } = await lambda.send(new GetFunctionCommand({ FunctionName }))
    return Concurrency?.ReservedConcurrentExecutions === 0
  }

  async function stop(FunctionName: string): Promise<boolean> {
    try {
      await lambda.send(new PutFunctionConcurrencyCommand({ FunctionName, ReservedConcurrentExecutions: 0 }))
      return true
    } catch (thrown) {
      if ((thrown as Error).name !== 'InvalidParameterValueException') throw thrown
      return false
    }
  }

  async function timeoutOf(name: string): Promise<number> {
    const { Configuration } = await lambda.send(
      new GetFunctionCommand({ FunctionName: parts.functionName(name) }),
    )
    return Configuration?.Timeout ?? 0
  }

  async function untilDrained(name: string): Promise<void> {
    const Value = parts.functionName(name)
    const quiet = async () => {
      const now = clock.now()
      const { Datapoints = [] } = await stack.cloudWatch.send(
        new GetMetricStatisticsCommand({
          Namespace: 'AWS/Lambda',
          MetricName: 'Invocations',
          Dimensions: [{ Name: 'FunctionName', Value }],
          StartTime: new Date(now - quietMilliseconds),
          EndTime: new Date(now),
          Period: 60,
          Statistics: ['Sum'],
        }),
      )
      if (Datapoints.some(({ Sum = 0 }) => Sum > 0)) return false
      const mappings = parts.triggersOf(name).map(({ physicalId }) => mappingAt(physicalId, stack))
      return (await Promise.all(mappings)).every((one) => !one.LastProcessingResult?.startsWith('PROBLEM'))
    }
    await waitUntil(quiet, drainMilliseconds, clock, `${name} has not handled all changes: see its alarm`)
  }
}

/**
 * Restores the reserved concurrency that the stage names and the provisioned one that a freeze removed, and enables what
 * it disabled. It can be repeated.
 * @returns the number of functions and of consumers that were changed
 */
export async function unfreeze(stack: FrozenStack): Promise<{ functions: number; consumers: number }> {
  const { lambda } = stack
  const { concurrency = {} } = stageNamed(stack.name.replace(/^commerce-/, ''))
  const parts = await partsOf(stack)
  let consumers = 0
  for (const consumer of parts.consumers) if (await resume(consumer, stack)) consumers += 1
  const stopped = [...stoppedFunctions('all')]
  for (const name of stopped) {
    const FunctionName = parts.functionName(name)
    const { [name]: ReservedConcurrentExecutions } = concurrency
    await (ReservedConcurrentExecutions === undefined
      ? lambda.send(new DeleteFunctionConcurrencyCommand({ FunctionName }))
      : lambda.send(new PutFunctionConcurrencyCommand({ FunctionName, ReservedConcurrentExecutions })))
    await restoreProvisioned(FunctionName, lambda)
  }
  return { functions: stopped.length, consumers }
}

async function partsOf({ name: stackName, cloudFormation }: FrozenStack) {
  const resources = await stackResources(stackName, cloudFormation)
  const functionName = functionNamesOf(resources)
  const triggers = resources
    .map((one): ConsumerTrigger => ({ ...one, isMapping: one.type === 'AWS::Lambda::EventSourceMapping' }))
    .filter(({ isMapping, type }) => isMapping || type === 'AWS::Scheduler::Schedule')
  const triggersOf = (name: string) =>
    triggers.filter(({ logicalId }) => logicalId.startsWith(pascalCase(name)))
  const consumers = pausedConsumers.map(
    ({ name }): Consumer => ({ functionName: functionName(name), triggers: triggersOf(name) }),
  )
  const machine = resources.find(({ type }) => type === 'AWS::StepFunctions::StateMachine')?.physicalId ?? ''
  return { functionName, triggersOf, consumers, machine }
}

async function runningImports(stateMachineArn: string, { stepFunctions }: FrozenStack): Promise<string[]> {
  const running: string[] = []
  const query = { stateMachineArn, statusFilter: 'RUNNING' as const }
  for await (const { executions = [] } of paginateListExecutions({ client: stepFunctions }, query))
    running.push(...executions.map(({ name = '' }) => name))
  return running
}

/** Sends requests without credentials, which change nothing, until the gateway cannot reach their functions. */
async function untilRefused(mode: Freeze, baseUrl: string, clock: FrozenStack['clock']): Promise<void> {
  const isRefused = async () => {
    for (const { method, path } of mode === 'all' ? [createOrder, listOrders] : [createOrder]) {
      const { status, headers } = await reach(`${baseUrl}${path}`, { method })
      if (status !== 503 || !headers.has('Retry-After')) return false
    }
    return true
  }
  await waitUntil(isRefused, effectMilliseconds, clock, 'the service still accepts requests')
}

/** Repeats a check until it passes. @throws Error with the problem if it does not in time */
async function waitUntil(
  passes: () => Promise<boolean>,
  milliseconds: number,
  clock: FrozenStack['clock'],
  problem: string,
): Promise<void> {
  for (const end = clock.now() + milliseconds; !(await passes()); await clock.sleep(pollMilliseconds))
    if (clock.now() > end) throw new Error(`${problem}. The freeze stays: run the command again`)
}
