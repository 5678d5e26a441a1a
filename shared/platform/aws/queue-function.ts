import type { SQSBatchResponse, SQSEvent } from 'aws-lambda'
import { type Clock, newId } from '../base/clock.ts'
import type { LogCode } from '../base/log.ts'
import { queueUrlVariable, type TaskQueue } from '../events/outbox.ts'
import { openWork, type WorkContext } from '../request/context.ts'
import { powertoolsLog } from './powertools-log.ts'
import { type Adapters, deployedRuntime } from './runtime.ts'
import { changeVisibility } from './sqs.ts'

/** The time limit of the work on one message. */
const milliseconds = 10_000

/**
 * Turns work on the messages of a queue into a function. It processes one message after another. Only a message that
 * fails is retried, after a growing pause, until the queue moves it to the dead-letter queue.
 * @param failure the log code of a failed message
 */
export function queueFunction(
  { queue, failure, ...adapters }: Adapters & { queue: TaskQueue; failure: LogCode },
  work: (body: string, context: WorkContext) => Promise<unknown>,
): (event: SQSEvent) => Promise<SQSBatchResponse> {
  let runtime: ReturnType<typeof deployedRuntime> | undefined
  return async ({ Records }) => {
    runtime ??= deployedRuntime({ log: powertoolsLog, ...adapters })
    const { clock, log, environment } = runtime
    const batchItemFailures: SQSBatchResponse['batchItemFailures'] = []
    for (const { body, messageId, attributes, receiptHandle } of Records) {
      try {
        const correlation = { id: newId(clock), trace: {} }
        await work(body, openWork(runtime, { operation: queue, correlation, milliseconds }))
      } catch (fault) {
        log.job({ code: failure, done: 0, failed: 1, fault })
        batchItemFailures.push({ itemIdentifier: messageId })
        const seconds = retryDelaySeconds(Number(attributes.ApproximateReceiveCount) + 1, clock)
        const url = environment(queueUrlVariable(queue)) ?? ''
        // If this fails, the queue's visibility timeout applies.
        await changeVisibility(url, receiptHandle, seconds).catch(() => undefined)
      }
    }
    return { batchItemFailures }
  }
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
