import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda'
import { type Clock, systemClock } from '../base/clock.ts'
import { type LogCode, powertoolsLog } from '../base/log.ts'
import { queueUrlVariable, type TaskQueue } from '../events/tasks.ts'
import { changeVisibility } from './sqs.ts'

/**
 * Returns the handler of a queue, which processes one message after another. Only a message that fails is retried,
 * after a growing pause, until the queue moves it to the dead-letter queue.
 * @param failure the log code of a failed message
 */
export function queueFunction(
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
        log.job({ code: failure, done: 0, failed: 1, fault })
        failed.push(record)
        await postpone(queue, record)
      }
    }
    return { batchItemFailures: failed.map(({ messageId }) => ({ itemIdentifier: messageId })) }
  }
}

/** Delays the retry of a message. If this fails, the queue's visibility timeout applies. */
async function postpone(queue: TaskQueue, { attributes, receiptHandle }: SQSRecord): Promise<void> {
  const seconds = retryDelaySeconds(Number(attributes.ApproximateReceiveCount) + 1, systemClock)
  await changeVisibility(process.env[queueUrlVariable(queue)] ?? '', receiptHandle, seconds).catch(
    () => undefined,
  )
}

const longestSeconds = 900

/**
 * Returns the pause before an attempt, in whole seconds. It doubles each time, and its jitter spreads the retries of
 * messages that failed together.
 * @param attempt 2 for the first retry
 */
export function retryDelaySeconds(attempt: number, clock: Pick<Clock, 'jitter'>): number {
  const ceiling = Math.min(longestSeconds, 2 ** attempt)
  return Math.ceil(ceiling * (0.5 + clock.jitter() / 2))
}
