import { CfnOutput, Duration, Validations } from 'aws-cdk-lib'
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { Key } from 'aws-cdk-lib/aws-kms'
import { Queue, QueueEncryption, type QueueProps } from 'aws-cdk-lib/aws-sqs'
import type { Construct } from 'constructs'
import { type TaskQueue, taskQueues } from '#shared/platform/events/outbox.ts'
import type { Settings } from '#shared/settings/register.ts'
import { deadLettersOutput, pascalCase, queueOutput } from '../functions/function-names.ts'

/** A work queue and its dead-letter queue. The settings define the number of attempts. */
export interface WorkQueue {
  queue: Queue
  deadLetters: Queue
}

export type WorkQueues = Readonly<Record<TaskQueue, WorkQueue>>

/** Creates a queue for each kind of task that runs after a commit. */
export function workQueues(scope: Construct, settings: Settings, key?: Key): WorkQueues {
  const created = Object.entries(taskQueues).map(([name, { attempts }]) => {
    const deadLetters = deadLetterQueue(scope, `${pascalCase(name)}DeadLetters`, key)
    const queue = new Queue(scope, pascalCase(name), {
      ...commonProps(key),
      // Six times the timeout of its function, as AWS recommends.
      visibilityTimeout: Duration.seconds(180),
      deadLetterQueue: { queue: deadLetters, maxReceiveCount: attempts(settings) },
    })
    new CfnOutput(scope, queueOutput(name as TaskQueue), { value: queue.queueUrl })
    new CfnOutput(scope, deadLettersOutput(name), { value: deadLetters.queueUrl })
    return [name, { queue, deadLetters }]
  })
  return Object.fromEntries(created)
}

/** Creates a queue for messages that could not be handled. */
export function deadLetterQueue(scope: Construct, id: string, key?: Key): Queue {
  const queue = new Queue(scope, id, commonProps(key))
  const reason = 'It is a dead-letter queue itself, and an alarm reports its messages.'
  Validations.of(queue).acknowledge(
    { id: 'AwsSolutions-SQS3', reason },
    { id: 'Serverless-SQSRedrivePolicy', reason },
  )
  return queue
}

/** Creates a queue that nobody reads. How many messages it holds says what happened lately. */
export function notesQueue(
  scope: Construct,
  id: string,
  { key, kept }: { key: Key | undefined; kept: Duration },
): Queue {
  const queue = new Queue(scope, id, { ...commonProps(key), retentionPeriod: kept })
  const reason = 'Nobody receives its messages: an alarm counts them until they expire.'
  Validations.of(queue).acknowledge(
    { id: 'AwsSolutions-SQS3', reason },
    { id: 'Serverless-SQSRedrivePolicy', reason },
  )
  return queue
}

/**
 * Lets one rule or bus of EventBridge send to a queue. CDK's target `SqsQueue` is not used: it lets every rule of the account
 * send to a queue with the stage's own key. `SendEventsToQueues` in own-key.ts grants the use of the key.
 * https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-use-resource-based.html
 */
export function admitEvents(queue: Queue, sourceArn: string): void {
  queue.addToResourcePolicy(
    new PolicyStatement({
      sid: 'SendEvents',
      principals: [new ServicePrincipal('events.amazonaws.com')],
      actions: ['sqs:SendMessage'],
      resources: [queue.queueArn],
      conditions: { ArnEquals: { 'aws:SourceArn': sourceArn } },
    }),
  )
}

/** Data keys of the stage's own key are reused for an hour, so a queue requests few of them at any load. */
function commonProps(key: Key | undefined): QueueProps {
  return {
    enforceSSL: true,
    retentionPeriod: Duration.days(14),
    ...(key
      ? { encryption: QueueEncryption.KMS, encryptionMasterKey: key, dataKeyReuse: Duration.hours(1) }
      : { encryption: QueueEncryption.SQS_MANAGED }),
  }
}
