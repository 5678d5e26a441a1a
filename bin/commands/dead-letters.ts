import {
  ChangeMessageVisibilityCommand,
  DeleteMessageCommand,
  ReceiveMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs'
import type { DeployedStack } from './deployment.ts'

/** A message of a dead-letter queue. */
export interface DeadLetter {
  id: string
  body: string
  /** The group of the message, if its queue is a fair one. */
  group: string | undefined
  /** The time at which its work was queued, or its function gave up. */
  sentAt: Date
  /** The receipt handle of this delivery, which removes or releases the message. */
  receipt: string
}

/** Yields each message once, and ends when every received message was seen before. */
export async function* unique({ receive }: Pick<DeadLetters, 'receive'>): AsyncGenerator<DeadLetter> {
  const seen = new Set<string>()
  for (;;) {
    const fresh = (await receive()).filter(({ id }) => !seen.has(id))
    if (fresh.length === 0) return
    for (const letter of fresh) {
      seen.add(letter.id)
      yield letter
    }
  }
}

export type DeadLetters = ReturnType<typeof deadLettersAt>

/** Longer than a run takes. An interrupted run can be repeated after this time. */
const hiddenSeconds = 900

/** Returns the SQS dead-letter queue at an address. */
export function deadLettersAt(QueueUrl: string, access: DeployedStack['access']) {
  const sqs = new SQSClient(access)
  return {
    /** Receives some messages and hides them from others for this time. Returns none if no others are left. */
    async receive(VisibilityTimeout = hiddenSeconds): Promise<DeadLetter[]> {
      const command = new ReceiveMessageCommand({
        QueueUrl,
        MaxNumberOfMessages: 10,
        WaitTimeSeconds: 1,
        VisibilityTimeout,
        MessageSystemAttributeNames: ['MessageGroupId', 'SentTimestamp'],
      })
      const { Messages = [] } = await sqs.send(command)
      return Messages.map((message) => {
        const { MessageId: id = '', Body: body = '', ReceiptHandle: receipt = '' } = message
        const { MessageGroupId: group, SentTimestamp } = message.Attributes ?? {}
        return { id, body, receipt, group, sentAt: new Date(Number(SentTimestamp ?? 0)) }
      })
    },
    async remove({ receipt: ReceiptHandle }: DeadLetter): Promise<void> {
      await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }))
    },
    /** Makes a message visible again at once. */
    async release({ receipt: ReceiptHandle }: DeadLetter): Promise<void> {
      await sqs.send(new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle, VisibilityTimeout: 0 }))
    },
  }
}
