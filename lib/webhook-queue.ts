import { Duration } from 'aws-cdk-lib'
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs'
import type { Construct } from 'constructs'
import type { Settings } from '#shared/settings/register.ts'
import { deadLetterQueue } from './dead-letters.ts'

/** The queue of received events, and the one for those that were tried as often as the settings say. */
export interface WebhookQueue {
  queue: Queue
  deadLetters: Queue
}

export function webhookQueue(scope: Construct, settings: Settings): WebhookQueue {
  const deadLetters = deadLetterQueue(scope, 'WebhooksDeadLetters')
  const queue = new Queue(scope, 'Webhooks', {
    encryption: QueueEncryption.SQS_MANAGED,
    enforceSSL: true,
    retentionPeriod: Duration.days(14),
    // Six times as long as its function may take, as AWS advises.
    visibilityTimeout: Duration.seconds(180),
    deadLetterQueue: { queue: deadLetters, maxReceiveCount: settings['webhooks.maxAttempts'] },
  })
  return { queue, deadLetters }
}
