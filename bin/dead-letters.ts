import {
  ChangeMessageVisibilityCommand,
  DeleteMessageCommand,
  ReceiveMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs'
import type { DeployedStack } from './deployment.ts'

/** A message that was given up. */
export interface DeadLetter {
  id: string
  body: string
  /** By which this delivery of it is removed or released. */
  receipt: string
}

/** A dead-letter queue as a command works through it. */
export interface DeadLetters {
  /** Some messages, kept from others for a quarter of an hour; none when there are no others left. */
  receive(): Promise<DeadLetter[]>
  remove(letter: DeadLetter): Promise<void>
  /** Lets a message that stays be received again at once. */
  release(letter: DeadLetter): Promise<void>
}

/** Long enough for all that a run has to do; a run that was killed can be repeated after it. */
const hiddenSeconds = 900

/** The dead-letter queue at an address, in SQS. */
export function deadLettersAt(QueueUrl: string, access: DeployedStack['access']): DeadLetters {
  const sqs = new SQSClient(access)
  return {
    async receive() {
      const { Messages = [] } = await sqs.send(
        new ReceiveMessageCommand({
          QueueUrl,
          MaxNumberOfMessages: 10,
          WaitTimeSeconds: 1,
          VisibilityTimeout: hiddenSeconds,
        }),
      )
      return Messages.map(({ MessageId: id = '', Body: body = '', ReceiptHandle: receipt = '' }) => ({
        id,
        body,
        receipt,
      }))
    },
    async remove({ receipt: ReceiptHandle }) {
      await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }))
    },
    async release({ receipt: ReceiptHandle }) {
      await sqs.send(new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle, VisibilityTimeout: 0 }))
    },
  }
}
