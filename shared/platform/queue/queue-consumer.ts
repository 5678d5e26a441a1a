import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda'
import { systemClock } from '../clock.ts'
import { type LogCode, powertoolsLog } from '../logging/log.ts'
import { pauseBefore } from './retry-pause.ts'
import { comeAgain } from './sqs.ts'
import { addressVariable, type TaskQueue } from './tasks.ts'

/**
 * The function that does the work of a queue, one piece after the other. A piece that throws comes again after a
 * growing pause, alone, until the queue gives it up.
 * @param failure the code under which a piece that failed is logged
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

/** If this fails, the message comes again after the queue's own pause. */
async function postpone(queue: TaskQueue, { attributes, receiptHandle }: SQSRecord): Promise<void> {
  const seconds = pauseBefore(Number(attributes.ApproximateReceiveCount) + 1, systemClock)
  await comeAgain(process.env[addressVariable(queue)] ?? '', receiptHandle, seconds).catch(() => undefined)
}
