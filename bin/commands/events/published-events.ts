import {
  DeleteRuleCommand,
  EventBridgeClient,
  PutRuleCommand,
  PutTargetsCommand,
  RemoveTargetsCommand,
} from '@aws-sdk/client-eventbridge'
import {
  CreateQueueCommand,
  DeleteMessageBatchCommand,
  DeleteQueueCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs'
import type { PublishedEvent } from '#shared/platform/events/outbox.ts'
import { type DeployedStack, outputOf } from '../stack/deployment.ts'

/** A subscription to the event bus of a deployment. */
export interface BusSubscription {
  /** Waits up to 20 seconds. @returns some events, which are then removed from the queue */
  receive(signal?: AbortSignal): Promise<PublishedEvent[]>
  /** Removes the queue and the rule. @throws Error with the commands that do it, if a step fails */
  remove(): Promise<void>
}

/** The events that a subscription receives; all if empty. */
export interface EventSelection {
  /** Types, prefixes such as `refund.*`, or `*` for all, as subscribers have them. */
  events?: readonly string[] | undefined
  tenant?: string | undefined
}

/**
 * Subscribes to the events that are published from now on, with a temporary queue and a rule on the bus.
 * @param name the name of both; `commerce-` allows operators to create them
 */
export async function subscribe(
  access: DeployedStack['access'],
  EventBusName: string,
  name: `commerce-${string}`,
  { events: patterns = ['*'], tenant }: EventSelection = {},
): Promise<BusSubscription> {
  const [events, queues] = [new EventBridgeClient(access), new SQSClient(access)]
  const rule = { Rule: name, EventBusName }
  const EventPattern = JSON.stringify({
    source: ['commerce-api'],
    ...(!patterns.includes('*') && { 'detail-type': patterns.map(matcherOf) }),
    ...(tenant !== undefined && { detail: { data: { tenant_id: [tenant] } } }),
  })
  let QueueUrl: string | undefined
  const { RuleArn } = await events.send(new PutRuleCommand({ Name: name, EventBusName, EventPattern }))
  try {
    await connect()
  } catch (thrown) {
    await removeAfter(thrown, remove)
  }
  return { receive, remove }

  async function connect(): Promise<void> {
    const Policy = JSON.stringify({
      Version: '2012-10-17',
      Statement: {
        Effect: 'Allow',
        Principal: { Service: 'events.amazonaws.com' },
        Action: 'sqs:SendMessage',
        Resource: '*',
        Condition: { ArnEquals: { 'aws:SourceArn': RuleArn } },
      },
    })
    // If this process is killed, the messages that nobody reads disappear after five minutes.
    const attributes = { MessageRetentionPeriod: '300', Policy }
    const created = await queues.send(new CreateQueueCommand({ QueueName: name, Attributes: attributes }))
    QueueUrl = created.QueueUrl
    const AttributeNames = ['QueueArn' as const]
    const { Attributes } = await queues.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames }))
    const Targets = [{ Id: 'queue', Arn: Attributes?.QueueArn ?? '' }]
    await events.send(new PutTargetsCommand({ ...rule, Targets }))
  }

  async function receive(abortSignal?: AbortSignal): Promise<PublishedEvent[]> {
    const wait = { QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 20 }
    const { Messages = [] } = await queues.send(
      new ReceiveMessageCommand(wait),
      abortSignal && { abortSignal },
    )
    const Entries = Messages.map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle }))
    if (Entries.length > 0) await queues.send(new DeleteMessageBatchCommand({ QueueUrl, Entries }))
    return Messages.map(({ Body = '' }) => JSON.parse(Body).detail as PublishedEvent)
  }

  async function remove(): Promise<void> {
    const failures: string[] = []
    const attempt = (step: Promise<unknown>) =>
      step.catch(({ message }: Error) => {
        failures.push(message)
      })
    await attempt(events.send(new RemoveTargetsCommand({ ...rule, Ids: ['queue'] })))
    await attempt(events.send(new DeleteRuleCommand({ Name: name, EventBusName })))
    if (QueueUrl !== undefined) await attempt(queues.send(new DeleteQueueCommand({ QueueUrl })))
    if (failures.length > 0)
      throw new Error(
        [
          `the rule and the queue ${name} may remain: ${[...new Set(failures)].join('; ')}. Remove them with`,
          `  aws events remove-targets --event-bus-name ${EventBusName} --rule ${name} --ids queue`,
          `  aws events delete-rule --event-bus-name ${EventBusName} --name ${name}`,
          ...(QueueUrl === undefined ? [] : [`  aws sqs delete-queue --queue-url ${QueueUrl}`]),
        ].join('\n'),
      )
  }
}

/** Removes a subscription. @throws the failure before it, the failure of the removal, or both in one Error */
async function removeAfter(failure: unknown, remove: BusSubscription['remove']): Promise<void> {
  const removal: unknown = await remove().catch((thrown) => thrown)
  const failures = [failure, removal].filter((one) => one !== undefined)
  if (failures.length > 1) throw new Error(failures.map((one) => (one as Error).message).join('\n'))
  for (const one of failures) throw one
}

/** Returns the matcher of an event pattern on the bus for a pattern of a subscriber. */
function matcherOf(pattern: string): string | { prefix: string } {
  return pattern.endsWith('.*') ? { prefix: pattern.slice(0, -1) } : pattern
}

/**
 * Yields the events that are published until the signal, up to ten at a time, and removes the subscription at the end.
 * @param started is called when the subscription exists
 */
export async function* receiveEvents(
  stack: DeployedStack,
  selection: EventSelection,
  { signal, started }: { signal: AbortSignal; started: () => void },
): AsyncGenerator<PublishedEvent[]> {
  const name = `commerce-events-${crypto.randomUUID()}` as const
  const subscription = await subscribe(stack.access, outputOf(stack, 'EventBusName'), name, selection)
  let failure: unknown
  try {
    started()
    while (!signal.aborted) yield await subscription.receive(signal)
  } catch (thrown) {
    if (!signal.aborted) failure = thrown
  } finally {
    await removeAfter(failure, subscription.remove)
  }
}
