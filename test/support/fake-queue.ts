import { createHash } from 'node:crypto'

interface Message {
  id: string
  body: string
  group: string | undefined
  /** The receipt handle of the latest delivery. */
  receipt: string
  /** The end of the visibility timeout, in milliseconds since 1970. */
  hiddenUntil: number
}

export interface FakeQueue {
  /** The SQS operations, for a fake of AWS. */
  operations: Record<string, (input: Record<string, unknown>) => unknown>
  /** Adds a message. @returns its id */
  put(body: unknown, group?: string): string
  /** Returns the bodies of all remaining messages, hidden or not. */
  left(): string[]
  empty(): void
}

/** The time at which every message was sent, in milliseconds since 1970. */
export const fakeSentAt = Date.parse('2026-01-31T12:00:00Z')

/** Fakes one SQS queue: a received message is hidden for the requested time, and stays until it is deleted. */
export function fakeQueue(): FakeQueue {
  let messages: Message[] = []
  let deliveries = 0
  return {
    operations: {
      'AmazonSQS.ReceiveMessage'({ MaxNumberOfMessages, VisibilityTimeout }) {
        const now = Date.now()
        const received = messages
          .filter(({ hiddenUntil }) => hiddenUntil <= now)
          .slice(0, Number(MaxNumberOfMessages))
        for (const message of received) {
          deliveries += 1
          message.receipt = `receipt-${deliveries}`
          message.hiddenUntil = now + Number(VisibilityTimeout) * 1000
        }
        return {
          Messages: received.map(({ id, body, group, receipt }) => ({
            MessageId: id,
            Body: body,
            MD5OfBody: createHash('md5').update(body).digest('hex'),
            ReceiptHandle: receipt,
            Attributes: { SentTimestamp: String(fakeSentAt), ...(group && { MessageGroupId: group }) },
          })),
        }
      },
      'AmazonSQS.DeleteMessage'({ ReceiptHandle }) {
        messages = messages.filter(({ receipt }) => receipt !== ReceiptHandle)
        return {}
      },
      'AmazonSQS.ChangeMessageVisibility'({ ReceiptHandle, VisibilityTimeout }) {
        for (const message of messages.filter(({ receipt }) => receipt === ReceiptHandle))
          message.hiddenUntil = Date.now() + Number(VisibilityTimeout) * 1000
        return {}
      },
    },
    put(body, group) {
      const id = crypto.randomUUID()
      messages.push({
        id,
        body: typeof body === 'string' ? body : JSON.stringify(body),
        group,
        receipt: '',
        hiddenUntil: 0,
      })
      return id
    },
    left: () => messages.map(({ body }) => body),
    empty() {
      messages = []
    },
  }
}
