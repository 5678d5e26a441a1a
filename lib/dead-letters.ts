import { Duration, Validations } from 'aws-cdk-lib'
import type { Key } from 'aws-cdk-lib/aws-kms'
import { Queue, QueueEncryption, type QueueProps } from 'aws-cdk-lib/aws-sqs'
import type { Construct } from 'constructs'

/** Creates a queue for messages that could not be handled, kept for 14 days. */
export function deadLetterQueue(scope: Construct, id: string, key?: Key): Queue {
  const queue = new Queue(scope, id, {
    ...encryptionOf(key),
    enforceSSL: true,
    retentionPeriod: Duration.days(14),
  })
  const reason = 'It is a dead-letter queue itself, and an alarm tells when something lies in it.'
  Validations.of(queue).acknowledge(
    { id: 'AwsSolutions-SQS3', reason },
    { id: 'Serverless-SQSRedrivePolicy', reason },
  )
  return queue
}

/**
 * Returns the encryption of a queue. Data keys of the stage's own key are reused for an hour, so a queue requests few
 * of them at any load.
 */
export function encryptionOf(key: Key | undefined): QueueProps {
  if (!key) return { encryption: QueueEncryption.SQS_MANAGED }
  return { encryption: QueueEncryption.KMS, encryptionMasterKey: key, dataKeyReuse: Duration.hours(1) }
}
