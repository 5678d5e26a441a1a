import { ChangeMessageVisibilityCommand, SendMessageBatchCommand, SQSClient } from '@aws-sdk/client-sqs'
import { lazy } from '../base/cached-load.ts'
import { httpHandler } from './http-handler.ts'

const sqs = lazy(() => new SQSClient({ maxAttempts: 3, requestHandler: httpHandler(3000) }))

/** A message to a queue. While its group has many in flight, a standard queue delivers those of others first. */
export interface QueueMessage {
  body: string
  group: string
  /** How long the queue hides it first: at most 900 seconds. */
  delaySeconds?: number
}

/** Sends at most ten messages to a queue. @returns for each message whether it failed */
export async function sendAll(queueUrl: string, messages: readonly QueueMessage[]): Promise<boolean[]> {
  const Entries = messages.map(({ body, group, delaySeconds }, index) => {
    const delay = delaySeconds === undefined ? {} : { DelaySeconds: delaySeconds }
    return { Id: String(index), MessageBody: body, MessageGroupId: group, ...delay }
  })
  const { Successful = [] } = await sqs().send(new SendMessageBatchCommand({ QueueUrl: queueUrl, Entries }))
  const sent = new Set(Successful.map(({ Id }) => Id))
  return messages.map((_, index) => !sent.has(String(index)))
}

/** Makes a message visible again after a number of seconds. */
export async function changeVisibility(
  queueUrl: string,
  receiptHandle: string,
  seconds: number,
): Promise<void> {
  await sqs().send(
    new ChangeMessageVisibilityCommand({
      QueueUrl: queueUrl,
      ReceiptHandle: receiptHandle,
      VisibilityTimeout: seconds,
    }),
  )
}
