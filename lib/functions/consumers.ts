import { CfnOutput, Duration, Validations } from 'aws-cdk-lib'
import { LambdaVersion, UserPoolOperation } from 'aws-cdk-lib/aws-cognito'
import { Role } from 'aws-cdk-lib/aws-iam'
import * as lambda from 'aws-cdk-lib/aws-lambda'
import { CfnSchedule } from 'aws-cdk-lib/aws-scheduler'
import type { Queue } from 'aws-cdk-lib/aws-sqs'
import type { Construct } from 'constructs'
import type { Subscription } from '#functions/subscriptions.ts'
import { deadLettersVariable } from '#shared/platform/aws/stream-function.ts'
import type { TaskQueue } from '#shared/platform/events/outbox.ts'
import { startMessage } from '#shared/refunds/reconcile-daily.ts'
import { grant, grantStream, serviceOfAccount } from '../access/grants.ts'
import { grantKey } from '../access/key-grants.ts'
import { rights } from '../access/rights.ts'
import { deadLetterQueue, type WorkQueue } from '../messages/queues.ts'
import { reservedConcurrency, type Stage } from '../stage.ts'
import { deadLettersOutput, functionOutput, pascalCase } from './function-names.ts'
import { invokedBy } from './release.ts'
import { type Deployment, serviceFunction } from './service-function.ts'

/**
 * How often a function that reads the table's stream tries a batch before the dead-letter queue. Lambda waits longer before each
 * retry, which bridges an outage of the bus. Records live for 24 h.
 */
const streamAttempts = 30

/** A function without a route, with its own dead-letter queue if it has one. */
interface Consumer {
  name: string
  handler: lambda.Function
  deadLetters?: Queue | undefined
}

/** Creates one function for each subscription and connects it to its source. */
export function consumers(
  scope: Construct,
  deployment: Deployment,
  subscriptions: readonly Subscription[],
): Consumer[] {
  const { stage, settings, resources } = deployment
  return subscriptions.map(({ name, description, uses, table, source }) => {
    const create = (onFailure: string) => {
      const timeout = Duration.seconds(30)
      const feedsItself = typeof source === 'object' && 'queue' in source && sendsTo(source.queue, uses)
      // Lambda would drop the 17th message of a chain without a line in a log. The work itself ends each chain.
      const recursiveLoop = feedsItself ? lambda.RecursiveLoop.ALLOW : undefined
      const props = { name, description, uses, table, timeout, onFailure, recursiveLoop }
      const handler = serviceFunction(scope, deployment, props)
      return { handler, invoked: invokedBy(handler, deployment.release) }
    }
    if (source === 'every.minute') {
      const { handler, invoked } = create(
        'It is invoked each minute and reads all pending work: no invocation has to be kept.',
      )
      feedEachMinute({ handler, invoked }, name, { stage, state: stateOf(deployment.freeze) })
      return { name, handler }
    }
    if (source === 'probe') {
      const { handler, invoked } = create('It is invoked each minute: the next run replaces one that failed.')
      // A freeze must not hide an outage.
      if (stage.onAws) feedEachMinute({ handler, invoked }, name, { stage, state: 'ENABLED' })
      return { name, handler }
    }
    if (source === 'pool.token') {
      const { handler, invoked } = create(
        'The pool invokes it synchronously: the user who logs in gets the failure.',
      )
      // The pool invokes the function synchronously before it issues tokens.
      const operation = UserPoolOperation.PRE_TOKEN_GENERATION_CONFIG
      resources.users.pool.addTrigger(operation, invoked, LambdaVersion.V2_0)
      return { name, handler }
    }
    if (source === 'operators') {
      const { handler, invoked } = create(
        'A command invokes it synchronously: its operator gets the failure.',
      )
      new CfnOutput(scope, functionOutput(name), { value: invoked.functionName })
      return { name, handler }
    }
    if ('queue' in source) {
      const { handler, invoked } = create('Its source is a queue with a dead-letter queue.')
      const queue = resources.queues[source.queue]
      if (source.daily) scheduleDaily({ handler, name }, queue.queue, deployment)
      feedFromQueue({ handler, invoked }, queue, {
        maxConcurrency: reservedConcurrency(stage, settings)?.[name],
        batchSize: source.daily ? 1 : 10,
        enabled: deployment.freeze === undefined,
      })
      return { name, handler, deadLetters: queue.deadLetters }
    }
    const { handler, invoked } = create(
      'The stream invokes it through a mapping, whose on-failure destination is the dead-letter queue.',
    )
    const deadLetters = deadLetterQueue(scope, `${pascalCase(name)}DeadLetters`, resources.key)
    feedFromStream({ handler, invoked }, deployment, { stream: source.stream, deadLetters })
    new CfnOutput(scope, deadLettersOutput(name), { value: deadLetters.queueUrl })
    new CfnOutput(scope, functionOutput(name), { value: invoked.functionName })
    return { name, handler, deadLetters }
  })
}

function sendsTo(queue: TaskQueue, uses: Subscription['uses']): boolean {
  // A use of this name may be of something else, such as mails.
  return uses.some((use) => use === `${queue}.send` && rights[use].actions.includes('sqs:SendMessage'))
}

/** A function with the target of its source: the function, or an alias of one of its versions. */
interface Target {
  handler: lambda.Function
  invoked: lambda.IFunction
}

function feedFromQueue(
  target: Target,
  { queue }: WorkQueue,
  { maxConcurrency, ...options }: { maxConcurrency: number | undefined; batchSize: number; enabled: boolean },
): void {
  const mapping = feed(target, 'Queue', {
    eventSourceArn: queue.queueArn,
    ...options,
    // Without a maximum, Lambda receives more messages than the function may handle and counts each as a failed
    // attempt.
    ...(maxConcurrency !== undefined && { maxConcurrency }),
  })
  Validations.of(mapping).acknowledge({
    id: 'Serverless-LambdaEventSourceMappingDestination',
    reason: 'The queue itself has a dead-letter queue; a destination is for streams.',
  })
}

/** Invokes the function every minute. The next run finds anything that one run missed. */
function feedEachMinute(
  { handler, invoked }: Target,
  name: string,
  { stage, state }: { stage: Stage; state: 'ENABLED' | 'DISABLED' },
): void {
  if (stage.onAws) runOnce(invoked)
  const invoker = new Role(handler, 'Invoker', {
    assumedBy: serviceOfAccount(handler, 'scheduler.amazonaws.com'),
  })
  grant(invoker, ['lambda:InvokeFunction'], [invoked.functionArn])
  new CfnSchedule(handler, 'EachMinute', {
    name: scheduleName(stage, name),
    scheduleExpression: 'rate(1 minute)',
    state,
    flexibleTimeWindow: { mode: 'OFF' },
    target: { arn: invoked.functionArn, roleArn: invoker.roleArn, retryPolicy: { maximumRetryAttempts: 0 } },
  })
}

/**
 * Keeps Lambda from repeating a run or holding its event. The next minute brings another run: one that Lambda kept would run
 * beside it, or during a freeze.
 */
function runOnce(invoked: lambda.IFunction): void {
  invoked.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: Duration.minutes(1) })
  const config = invoked.node.findChild('EventInvokeConfig')
  Validations.of(config).acknowledge({
    id: 'Serverless-LambdaAsyncFailureDestination',
    reason: 'The next run does the work of one that failed.',
  })
}

/** Returns the name of a schedule. A generated one would be longer than the 64 characters that EventBridge Scheduler takes. */
function scheduleName(stage: Stage, name: string): string {
  return `commerce-${stage.name}-${name}`
}

/** Returns the state of a schedule. */
function stateOf(freeze: Deployment['freeze']): 'ENABLED' | 'DISABLED' {
  return freeze === undefined ? 'ENABLED' : 'DISABLED'
}

/** Sends a message to the queue of the function each day. The queue repeats it after a failure. */
function scheduleDaily(
  { handler, name }: Pick<Consumer, 'handler' | 'name'>,
  queue: Queue,
  deployment: Deployment,
): void {
  const { stage, settings, resources, freeze } = deployment
  const sender = new Role(handler, 'Sender', {
    assumedBy: serviceOfAccount(handler, 'scheduler.amazonaws.com'),
  })
  grant(sender, ['sqs:SendMessage'], [queue.queueArn])
  grantKey(sender, resources.key, ['sqs:SendMessage', 'sqs:ReceiveMessage'])
  new CfnSchedule(handler, 'Daily', {
    name: scheduleName(stage, name),
    scheduleExpression: `cron(0 ${settings['refunds.reconcile'].hour} * * ? *)`,
    state: stateOf(freeze),
    flexibleTimeWindow: { mode: 'OFF' },
    target: { arn: queue.queueArn, roleArn: sender.roleArn, input: startMessage },
  })
}

/**
 * Feeds changes to the function as they happen. There is no batching window, because an event is due within a second.
 */
function feedFromStream(
  target: Target,
  { resources }: Deployment,
  { stream, deadLetters }: { stream: keyof typeof streamFilters; deadLetters: Queue },
): void {
  const streamArn = resources.table.tableStreamArn ?? ''
  grantStream(target.handler, { streamArn, queueArn: deadLetters.queueArn, key: resources.key })
  target.handler.addEnvironment(deadLettersVariable, deadLetters.queueUrl)
  feed(target, 'TableStream', {
    eventSourceArn: streamArn,
    startingPosition: lambda.StartingPosition.TRIM_HORIZON,
    batchSize: 100,
    // The order of changes to one item is kept, whatever the number of concurrent batches.
    parallelizationFactor: 10,
    bisectBatchOnError: true,
    retryAttempts: streamAttempts - 1,
    onFailure: { bind: () => ({ destination: deadLetters.queueArn }) },
    // Changes that the function does not use do not invoke it.
    filters: [lambda.FilterCriteria.filter({ ...streamFilters[stream] })],
  })
}

function feed(
  { handler, invoked }: Target,
  id: string,
  options: lambda.EventSourceMappingOptions,
): lambda.EventSourceMapping {
  const mapping = new lambda.EventSourceMapping(handler, id, {
    target: invoked,
    reportBatchItemFailures: true,
    ...options,
  })
  // The mapping checks its permissions when it is created.
  mapping.node.addDependency(handler.role?.node.tryFindChild('DefaultPolicy') ?? handler)
  return mapping
}

/** A filter sees only leaf attributes, so each kind of item is recognized by a member that it always has. */
const streamFilters = {
  outbox: {
    dynamodb: { NewImage: { outbox: { M: { correlation_id: { S: lambda.FilterRule.exists() } } } } },
  },
  tasks: {
    eventName: lambda.FilterRule.isEqual('INSERT'),
    dynamodb: { NewImage: { task: { M: { queue: { S: lambda.FilterRule.exists() } } } } },
  },
}
