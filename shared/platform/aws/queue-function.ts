import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda'
import { type Clock, newId } from '../base/clock.ts'
import { fail } from '../base/failure.ts'
import type { LogCode } from '../base/log.ts'
import { queueUrlVariable, type TaskQueue } from '../events/outbox.ts'
import { openWork, type Runtime, type WorkContext } from '../request/context.ts'
import { powertoolsLog } from './powertools-log.ts'
import { type Adapters, deployedRuntime } from './runtime.ts'
import { changeVisibility } from './sqs.ts'

/** The time in which messages are handed back to the queue. */
const handBackMilliseconds = 3000
/** The pause of a message that nobody has worked on. */
const handBackSeconds = 1

/** The dependencies of the work on a batch. */
export interface Batch {
  runtime: Pick<Runtime, 'clock' | 'log'>
  /** The log code of a failed message. */
  failure: LogCode
  /** The time limit of the work on one message. */
  milliseconds: number
  work(body: string): Promise<unknown>
  /** Returns the remaining time of the function, in milliseconds. */
  remaining(): number
  /** Makes a message visible again after a number of seconds. */
  makeVisible(record: SQSRecord, seconds: number): Promise<void>
}

/**
 * Turns work on the messages of a queue into a function. It processes one message after another. Only a message that
 * fails is retried, after a growing pause, until the queue moves it to the dead-letter queue.
 * @param failure the log code of a failed message
 * @param milliseconds the time limit of the work on one message
 */
export function queueFunction(
  {
    queue,
    failure,
    milliseconds = 10_000,
    ...adapters
  }: Adapters & { queue: TaskQueue; failure: LogCode; milliseconds?: number },
  work: (body: string, context: WorkContext) => Promise<unknown>,
): (event: SQSEvent, lambda: Pick<Context, 'getRemainingTimeInMillis'>) => Promise<SQSBatchResponse> {
  let deployed: ReturnType<typeof deployedRuntime> | undefined
  return ({ Records }, lambda) => {
    deployed ??= deployedRuntime({ log: powertoolsLog, ...adapters })
    const runtime = deployed
    return processBatch(Records, {
      ...{ runtime, failure, milliseconds },
      work(body) {
        const correlation = { id: newId(runtime.clock), trace: {} }
        return work(body, openWork(runtime, { operation: queue, correlation, milliseconds }))
      },
      remaining: () => lambda.getRemainingTimeInMillis(),
      makeVisible({ receiptHandle }, seconds) {
        return changeVisibility(runtime.environment(queueUrlVariable(queue)) ?? '', receiptHandle, seconds)
      },
    })
  }
}

/**
 * Processes messages while the limit of one more is left, and hands the others back, so that no batch outlives its
 * function: a function that is stopped would return no result, and all its messages would be repeated.
 */
export async function processBatch(
  records: readonly SQSRecord[],
  { runtime: { clock, log }, failure, milliseconds, work, remaining, makeVisible }: Batch,
): Promise<SQSBatchResponse> {
  const later: { record: SQSRecord; seconds: number }[] = []
  for (const record of records) {
    if (remaining() < milliseconds + handBackMilliseconds) {
      later.push({ record, seconds: handBackSeconds })
      continue
    }
    try {
      await within(milliseconds, work(record.body))
    } catch (fault) {
      const attempt = Number(record.attributes.ApproximateReceiveCount)
      log.job({ code: failure, done: 0, failed: 1, fault, message_id: record.messageId, attempt })
      later.push({ record, seconds: retryDelaySeconds(attempt + 1, clock) })
    }
  }
  // If this fails, the queue's visibility timeout applies.
  const handedBack = later.map(({ record, seconds }) => makeVisible(record, seconds))
  await within(handBackMilliseconds, Promise.allSettled(handedBack)).catch(() => undefined)
  return { batchItemFailures: later.map(({ record }) => ({ itemIdentifier: record.messageId })) }
}

/** @throws DEPENDENCY.timeout if the work takes longer; its effects are those of a message that is delivered twice */
async function within<T>(limit: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(fail('DEPENDENCY.timeout')), limit)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

const maxSeconds = 900

/**
 * Returns the pause before an attempt, in whole seconds. It doubles each time, and its jitter spreads the retries of
 * messages that failed together.
 * @param attempt 2 for the first retry
 */
export function retryDelaySeconds(attempt: number, clock: Pick<Clock, 'jitter'>): number {
  const ceiling = Math.min(maxSeconds, 2 ** attempt)
  return Math.ceil(ceiling * (0.5 + clock.jitter() / 2))
}
