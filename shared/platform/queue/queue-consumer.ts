import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda'
import { systemClock } from '../clock.ts'
import { type LogCode, powertoolsLog } from '../logging/log.ts'
import { pauseBefore } from './retry-pause.ts'
import { comeAgain } from './sqs.ts'
import { addressVariable, type TaskQueue } from './tasks.ts'

/**
 * Returns the handler of a queue, which processes one message after another. Only a message that fails is retried,
 * after a growing pause, until the queue moves it to the dead-letter queue.
 * @param failure the log code of a failed message
 */
export function queueConsumer(
  queue: TaskQueue,
  failure: LogCode,
  work: (body: string) => Promise<unknown>,
): (event: SQSEvent) => Promise<SQSBatchResponse> {
  const log = powertoolsLog('commerce-api')
  return async ({ Records }) => {
    const failed: SQSRecord[] = []
    for (const record of Records) {
      try {
        await work(record.body)
      } catch (fault) {
        log.worked({ code: failure, done: 0, failed: 1, fault })
        failed.push(record)
        await postpone(queue, record)
      }
    }
    return { batchItemFailures: failed.map(({ messageId }) => ({ itemIdentifier: messageId })) }
  }
}

/** Delays the retry of a message. If this fails, the queue's visibility timeout applies. */
async function postpone(queue: TaskQueue, { attributes, receiptHandle }: SQSRecord): Promise<void> {
  const seconds = pauseBefore(Number(attributes.ApproximateReceiveCount) + 1, systemClock)
  await comeAgain(process.env[addressVariable(queue)] ?? '', receiptHandle, seconds).catch(() => undefined)
}
