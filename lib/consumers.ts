import { CfnOutput, Duration, Validations } from 'aws-cdk-lib'
import { LambdaVersion, UserPoolOperation } from 'aws-cdk-lib/aws-cognito'
import { Grant, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import {
  EventSourceMapping,
  FilterCriteria,
  FilterRule,
  type Function as LambdaFunction,
  StartingPosition,
} from 'aws-cdk-lib/aws-lambda'
import { CfnSchedule } from 'aws-cdk-lib/aws-scheduler'
import type { Queue } from 'aws-cdk-lib/aws-sqs'
import type { Construct } from 'constructs'
import type { Subscription } from '#functions/subscriptions.ts'
import type { Settings } from '#shared/settings/register.ts'
import { deadLetterQueue } from './dead-letters.ts'
import { codeOf } from './endpoint-functions.ts'
import type { FunctionCodes } from './function-entries.ts'
import { environmentOf } from './function-environment.ts'
import { grantUses, type Resources } from './grants.ts'
import { grantSend, grantStreamRead } from './mapping-grants.ts'
import { pascalCase, serviceFunction } from './service-function.ts'
import type { Stage } from './stage.ts'
import type { Users } from './user-pool.ts'
import type { WorkQueue } from './work-queues.ts'

export interface ConsumersProps {
  stage: Stage
  codes: FunctionCodes
  resources: Resources
  subscriptions: readonly Subscription[]
  settings: Settings
}

/** A function without a route, with its own dead-letter queue if it has one. */
export interface Consumer {
  subscription: Subscription
  handler: LambdaFunction
  deadLetters?: Queue
}

/** Creates one function for each subscription and connects it to its source. */
export function consumers(scope: Construct, props: ConsumersProps): Consumer[] {
  const { stage, codes, resources, subscriptions, settings } = props
  return subscriptions.map((subscription) => {
    const { name, description, uses, source } = subscription
    const concurrency =
      typeof source === 'object' && 'queue' in source ? stage.concurrency?.queues[source.queue] : undefined
    const handler = serviceFunction(scope, {
      stage,
      key: resources.key,
      name,
      description,
      code: codeOf(codes, name),
      timeout: Duration.seconds(30),
      environment: environmentOf(uses, resources),
      concurrency,
    })
    grantUses(handler, uses, resources)
    const deadLetters = feed(handler, subscription, { resources, settings, scope, concurrency })
    return { subscription, handler, ...(deadLetters && { deadLetters }) }
  })
}

interface FeedProps {
  resources: Resources
  settings: Settings
  scope: Construct
  /** Reserved concurrency of the function, if it has a limit. */
  concurrency: number | undefined
}

/**
 * Connects a function to its source.
 * @returns the dead-letter queue of the function
 */
function feed(
  handler: LambdaFunction,
  { name, source }: Subscription,
  { resources, settings, scope, concurrency }: FeedProps,
): Queue | undefined {
  if (source === 'every.minute') return feedEachMinute(handler)
  if (source === 'pool.token') return feedFromPool(handler, resources.users)
  if ('queue' in source) return feedFromQueue(handler, resources.queues[source.queue], concurrency)
  const deadLetters = deadLetterQueue(scope, `${pascalCase(name)}DeadLetters`, resources.dataKey)
  const filter = streamFilters[source.stream]
  feedFromStream(handler, { resources, filter, deadLetters, maxAttempts: settings['events.maxAttempts'] })
  new CfnOutput(scope, streamDeadLettersOutput(name), { value: deadLetters.queueUrl })
  new CfnOutput(scope, streamFunctionOutput(name), { value: handler.functionName })
  return deadLetters
}

/** Returns the stack output that holds the name of a function fed by the stream. */
export function streamFunctionOutput(name: string): string {
  return `${pascalCase(name)}FunctionName`
}

export function streamDeadLettersOutput(name: string): string {
  return `${pascalCase(name)}DeadLettersUrl`
}

function feedFromQueue(
  handler: LambdaFunction,
  { queue, deadLetters }: WorkQueue,
  maxConcurrency: number | undefined,
): Queue {
  const mapping = new EventSourceMapping(handler, 'Queue', {
    target: handler,
    eventSourceArn: queue.queueArn,
    batchSize: 10,
    reportBatchItemFailures: true,
    // Without a maximum, Lambda receives more messages than the function may handle and counts each as a failed
    // attempt.
    ...(maxConcurrency !== undefined && { maxConcurrency }),
  })
  Validations.of(mapping).acknowledge({
    id: 'Serverless-LambdaEventSourceMappingDestination',
    reason: 'The queue itself has the dead-letter queue; a destination is for streams.',
  })
  mapping.node.addDependency(handler.role?.node.tryFindChild('DefaultPolicy') ?? handler)
  Validations.of(handler).acknowledge({
    id: 'Serverless-LambdaDLQ',
    reason: 'A queue feeds it, which has a dead-letter queue of its own.',
  })
  return deadLetters
}

/** Invokes the function synchronously before the pool issues tokens. */
function feedFromPool(handler: LambdaFunction, { pool }: Users): undefined {
  pool.addTrigger(UserPoolOperation.PRE_TOKEN_GENERATION_CONFIG, handler, LambdaVersion.V2_0)
  Validations.of(handler).acknowledge({
    id: 'Serverless-LambdaDLQ',
    reason: 'The pool invokes it and waits: a failure goes to whoever logs in, and there is nothing to keep.',
  })
}

/** Invokes the function every minute. The next run finds anything that one run missed. */
function feedEachMinute(handler: LambdaFunction): undefined {
  const invoker = new Role(handler, 'Invoker', { assumedBy: new ServicePrincipal('scheduler.amazonaws.com') })
  Grant.addToPrincipal({
    grantee: invoker,
    actions: ['lambda:InvokeFunction'],
    resourceArns: [handler.functionArn],
  })
  new CfnSchedule(handler, 'EachMinute', {
    scheduleExpression: 'rate(1 minute)',
    flexibleTimeWindow: { mode: 'OFF' },
    target: {
      arn: handler.functionArn,
      roleArn: invoker.roleArn,
      retryPolicy: { maximumRetryAttempts: 0 },
    },
  })
  Validations.of(handler).acknowledge({
    id: 'Serverless-LambdaDLQ',
    reason:
      'It is invoked each minute and looks for everything that is unfinished: there is nothing to keep.',
  })
}

/**
 * Feeds changes to the function as they happen. There is no batching window, because an event is due within a second.
 */
function feedFromStream(
  handler: LambdaFunction,
  {
    resources,
    filter,
    deadLetters,
    maxAttempts,
  }: { resources: Resources; filter: object; deadLetters: Queue; maxAttempts: number },
): void {
  const streamArn = resources.table.tableStreamArn ?? ''
  grantStreamRead(handler, streamArn, resources.key)
  grantSend(handler, deadLetters.queueArn, resources.key)
  const mapping = new EventSourceMapping(handler, 'TableStream', {
    target: handler,
    eventSourceArn: streamArn,
    startingPosition: StartingPosition.TRIM_HORIZON,
    batchSize: 100,
    // The order of changes to one item is kept, whatever the number of concurrent batches.
    parallelizationFactor: 10,
    reportBatchItemFailures: true,
    bisectBatchOnError: true,
    // Lambda waits longer before each retry, which bridges an outage of the bus. Records live for 24 h.
    retryAttempts: maxAttempts - 1,
    onFailure: { bind: () => ({ destination: deadLetters.queueArn }) },
    // Changes that the function does not use do not invoke it.
    filters: [FilterCriteria.filter({ ...filter })],
  })
  // The mapping checks its permissions when it is created.
  mapping.node.addDependency(handler.role?.node.tryFindChild('DefaultPolicy') ?? handler)
  Validations.of(handler).acknowledge({
    id: 'Serverless-LambdaDLQ',
    reason: 'The stream invokes it through a mapping, whose on-failure destination is the dead-letter queue.',
  })
}

/** A filter sees only leaf attributes, so each kind of item is recognized by a member that it always has. */
const streamFilters = {
  outbox: { dynamodb: { NewImage: { outbox: { M: { occurred_at: { S: FilterRule.exists() } } } } } },
  tasks: {
    eventName: FilterRule.isEqual('INSERT'),
    dynamodb: { NewImage: { task: { M: { queue: { S: FilterRule.exists() } } } } },
  },
}
