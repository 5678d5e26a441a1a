import { ChangeMessageVisibilityCommand, SendMessageBatchCommand, SQSClient } from '@aws-sdk/client-sqs'
import { lazy } from '../base/cached-load.ts'
import { httpHandler } from './http-handler.ts'

const sqs = lazy(() => new SQSClient({ maxAttempts: 3, requestHandler: httpHandler(3000) }))

/** Sends at most ten messages to a queue. @returns for each message whether it failed */
export async function sendAll(queueUrl: string, texts: readonly string[]): Promise<boolean[]> {
  const Entries = texts.map((MessageBody, index) => ({ Id: String(index), MessageBody }))
  const { Successful = [] } = await sqs().send(new SendMessageBatchCommand({ QueueUrl: queueUrl, Entries }))
  const sent = new Set(Successful.map(({ Id }) => Id))
  return texts.map((_, index) => !sent.has(String(index)))
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
