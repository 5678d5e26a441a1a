import { Duration } from 'aws-cdk-lib'
import { type CfnArchive, type CfnRule, EventBus, EventField, Rule } from 'aws-cdk-lib/aws-events'
import type { Key } from 'aws-cdk-lib/aws-kms'
import type { Queue } from 'aws-cdk-lib/aws-sqs'
import type { Construct } from 'constructs'
import type { Settings } from '#shared/settings/register.ts'
import type { Stage } from '../stage.ts'
import { admitEvents, deadLetterQueue, type WorkQueue } from './queues.ts'

interface PublishedEvents {
  bus: EventBus
  /** Receives events that the bus cannot encrypt or decrypt, on a stage with its own key. */
  deadLetters?: Queue | undefined
}

/** Creates the bus that publishes the events of the service, and the archive for replays. */
export function eventBus(scope: Construct, stage: Stage, settings: Settings, key?: Key): PublishedEvents {
  const deadLetters = key && deadLetterQueue(scope, 'EventBusDeadLetters', key)
  const bus = new EventBus(scope, 'EventBus', {
    // Subscribers use this name in their own stacks.
    eventBusName: `commerce-${stage.name}`,
    description: 'Events of the commerce service.',
    ...(key && { kmsKey: key }),
    ...(deadLetters && { deadLetterQueue: deadLetters }),
  })
  if (deadLetters) admitEvents(deadLetters, bus.eventBusArn)
  if (stage.onAws) {
    const archive = bus.archive('EventArchive', {
      // A generated name would be longer than the 48 characters that EventBridge takes.
      archiveName: `commerce-${stage.name}`,
      description: 'Published events, kept for replay.',
      eventPattern: { source: ['commerce-api'] },
      retention: Duration.days(settings['events.replay'].archiveDays),
    })
    // The key policy in own-key.ts grants the archive its permissions.
    if (key) (archive.node.defaultChild as CfnArchive).kmsKeyIdentifier = key.keyArn
  }
  return { bus, deadLetters }
}

/**
 * Sends the events that name the queue (see relay-events/handler.ts) to the queue from which subscribers outside AWS get them.
 * A message belongs to the group of its tenant, so the queue serves the few events of other tenants before the many of one. A
 * replay of the bus is left out: it would reach the subscribers of all tenants. What the rule cannot send has the form of a
 * message of the queue, so its dead letters are redriven with those of the queue.
 * https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_SqsParameters.html
 */
export function feedSubscribers(scope: Construct, bus: EventBus, { queue, deadLetters }: WorkQueue): void {
  const rule = new Rule(scope, 'PublishedEventsRule', {
    eventBus: bus,
    description: 'Events of this stage for subscribers outside AWS.',
    eventPattern: { source: ['commerce-api'], resources: [queue.queueArn] },
    targets: [
      {
        bind: () => ({
          arn: queue.queueArn,
          deadLetterConfig: { arn: deadLetters.queueArn },
          sqsParameters: { messageGroupId: EventField.fromPath('$.detail.data.tenant_id') },
        }),
      },
    ],
  })
  for (const admitted of [queue, deadLetters]) admitEvents(admitted, rule.ruleArn)
  const cfn = rule.node.defaultChild as CfnRule
  // The pattern of CDK has no member for it.
  cfn.addPropertyOverride('EventPattern.replay-name', [{ exists: false }])
}
