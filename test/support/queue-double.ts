import { createHash } from 'node:crypto'

interface Message {
  id: string
  body: string
  /** Of its latest delivery. */
  receipt: string
  /** Milliseconds since 1970 until which nobody else receives it. */
  hiddenUntil: number
}

export interface QueueDouble {
  /** What answers the calls of SQS, for an AWS double. */
  operations: Record<string, (input: Record<string, unknown>) => unknown>
  /** Puts a message in. */
  put(body: unknown): void
  /** The bodies of all messages that are left, hidden or not. */
  left(): string[]
  empty(): void
}

/** One queue as SQS has it: a message that is received is hidden for as long as was asked, and stays until it is deleted. */
export function queueDouble(): QueueDouble {
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
          Messages: received.map(({ id, body, receipt }) => ({
            MessageId: id,
            Body: body,
            MD5OfBody: createHash('md5').update(body).digest('hex'),
            ReceiptHandle: receipt,
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
    put(body) {
      const id = crypto.randomUUID()
      messages.push({
        id,
        body: typeof body === 'string' ? body : JSON.stringify(body),
        receipt: '',
        hiddenUntil: 0,
      })
    },
    left: () => messages.map(({ body }) => body),
    empty() {
      messages = []
    },
  }
}
