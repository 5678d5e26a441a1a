import {
  ChangeMessageVisibilityCommand,
  DeleteMessageCommand,
  ReceiveMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs'
import type { DeployedStack } from '../stack/deployment.ts'

/** A message of a dead-letter queue. */
export interface DeadLetter {
  id: string
  body: string
  /** The group of the message, if its queue is a fair one. */
  group: string | undefined
  /** The time at which its work was queued, or its function gave up. */
  sentAt: Date
  /** The receipt handle of this delivery, which removes the message or puts it back. */
  receipt: string
}

/** Yields each message once, and ends when every received message was seen before. */
export async function* distinctLetters({
  receive,
}: Pick<DeadLetters, 'receive'>): AsyncGenerator<DeadLetter> {
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

/** Which dead letters a redrive takes: one by its id, or so many at most. */
export interface LetterSelection {
  id?: string | undefined
  limit?: number | undefined
}

/** After so many receipts in a row without a letter that stood there, none is left: SQS returns letters in any order. */
const maxReceiptsInVain = 3

/**
 * Yields letters in batches, each letter once. It ends although letters arrive: those that were sent after a time are left alone,
 * and so are those that this run has sent. Letters that it does not yield are put back at the end.
 * @param until milliseconds since 1970
 * @param sent the ids of the messages that this run has sent
 */
export async function* standing(
  letters: Pick<DeadLetters, 'receive' | 'putBack'>,
  { id, limit, until, sent }: LetterSelection & { until: number; sent: ReadonlySet<string> },
): AsyncGenerator<DeadLetter[]> {
  const seen = new Set<string>()
  const others: DeadLetter[] = []
  let left = id === undefined ? (limit ?? Number.POSITIVE_INFINITY) : 1
  try {
    for (let inVain = 0; left > 0 && inVain < maxReceiptsInVain; ) {
      const fresh = (await letters.receive()).filter((letter) => !seen.has(letter.id))
      if (fresh.length === 0) return
      for (const letter of fresh) seen.add(letter.id)
      const stood = fresh.filter((letter) => !sent.has(letter.id) && letter.sentAt.getTime() <= until)
      const chosen = stood.filter((letter) => id === undefined || letter.id === id).slice(0, left)
      others.push(...fresh.filter((letter) => !chosen.includes(letter)))
      left -= chosen.length
      inVain = stood.length === 0 ? inVain + 1 : 0
      if (chosen.length > 0) yield chosen
    }
  } finally {
    await Promise.allSettled(others.map((letter) => letters.putBack(letter)))
  }
}

export type DeadLetters = ReturnType<typeof deadLettersAt>

/** Longer than a run takes. An interrupted run can be repeated after this time. */
export const hiddenSeconds = 900

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
    async putBack({ receipt: ReceiptHandle }: DeadLetter): Promise<void> {
      await sqs.send(new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle, VisibilityTimeout: 0 }))
    },
  }
}
