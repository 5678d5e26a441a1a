import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda'
import type { Settings } from '../../settings/register.ts'
import { lazy } from '../base/cached-load.ts'
import { type Clock, newId, withTimeout } from '../base/clock.ts'
import { type Failure, fail } from '../base/failure.ts'
import type { LogCode } from '../base/log.ts'
import { queueUrlVariable, type TaskQueue } from '../events/outbox.ts'
import { openWork, type Runtime, type WorkContext } from '../request/context.ts'
import { powertoolsLog } from './powertools-log.ts'
import { type Adapters, deployedRuntime } from './runtime.ts'
import { changeVisibility } from './sqs.ts'

/** The time in which failed messages are handed back to the queue. */
const handBackMilliseconds = 3000

/** The dependencies of the work on messages. */
export interface BatchWork {
  runtime: Pick<Runtime, 'clock' | 'log'>
  /** The log code of a failed message. */
  failure: LogCode
  /** The time limit of the work on one message. */
  milliseconds: number
  /** Makes a message visible again after a number of seconds. */
  makeVisible(message: SQSRecord, seconds: number): Promise<void>
}

/** Options of a function that a queue feeds. */
type QueueOptions = Adapters & {
  queue: TaskQueue
  failure: LogCode
  milliseconds?: number
  /** Those of the deployment if absent. */
  settings?: Settings
}

type QueueHandler = (event: SQSEvent) => Promise<SQSBatchResponse>

/**
 * Turns work on one message of a queue into a function. Only a message that fails is retried, after a growing pause, until
 * the queue moves it to the dead-letter queue.
 * @param failure the log code of a failed message
 * @param milliseconds the time limit of the work on one message
 */
export function queueFunction(
  options: QueueOptions,
  work: (body: string, context: WorkContext) => Promise<unknown>,
): QueueHandler {
  const open = queueWork(options)
  return ({ Records }) => {
    const { openContext, ...batch } = open()
    return processBatch(
      Records,
      Records.map(async ({ body }) => work(body, openContext())),
      batch,
    )
  }
}

/**
 * Turns work on all messages of a batch into a function. A message that fails is retried as with `queueFunction`.
 * @param work returns the outcome of each message, in their order
 */
export function batchFunction(
  options: QueueOptions,
  work: (bodies: readonly string[], context: WorkContext) => Promise<unknown>[],
): QueueHandler {
  const open = queueWork(options)
  return ({ Records }) => {
    const { openContext, ...batch } = open()
    const bodies = Records.map(({ body }) => body)
    return processBatch(Records, work(bodies, openContext()), batch)
  }
}

/** Returns the dependencies of a function, which share one runtime. */
function queueWork({ queue, failure, milliseconds = 10_000, settings, ...adapters }: QueueOptions) {
  const deployed = lazy(() => deployedRuntime({ log: powertoolsLog, ...adapters }, settings))
  return (): BatchWork & { openContext(): WorkContext } => {
    const runtime = deployed()
    return {
      ...{ runtime, failure, milliseconds },
      openContext() {
        const correlation = { id: newId(runtime.clock), trace: {} }
        return openWork(runtime, { operation: queue, correlation, milliseconds })
      },
      makeVisible({ receiptHandle }, seconds) {
        return changeVisibility(runtime.environment(queueUrlVariable(queue)) ?? '', receiptHandle, seconds)
      },
    }
  }
}

/**
 * Waits for the work on all messages, which goes on at the same time, and hands back those that failed. So each receive
 * of a message is an attempt, and no batch outlives its function: a function that is stopped would return no result, and
 * all its messages would be repeated.
 * @param works the work on each message, in their order
 */
export async function processBatch(
  messages: readonly SQSRecord[],
  works: readonly Promise<unknown>[],
  batch: BatchWork,
): Promise<SQSBatchResponse> {
  const ended = await Promise.allSettled(works.map((work) => withTimeout(work, batch.milliseconds, tooLate)))
  const later = messages.flatMap((message, index) => {
    const end = ended[index]
    return end?.status === 'rejected' ? [failed(message, end.reason, batch)] : []
  })
  return handBack(later, batch)
}

/** A message that becomes visible again after a number of seconds. */
interface Later {
  message: SQSRecord
  seconds: number
}

function failed(message: SQSRecord, fault: unknown, { runtime, failure }: BatchWork): Later {
  const { clock, log } = runtime
  const attempt = Number(message.attributes.ApproximateReceiveCount)
  log.job({ code: failure, done: 0, failed: 1, fault, message_id: message.messageId, attempt })
  return { message, seconds: retryDelaySeconds(attempt + 1, clock) }
}

async function handBack(later: readonly Later[], { makeVisible }: BatchWork): Promise<SQSBatchResponse> {
  // If this fails, the queue's visibility timeout applies.
  const handedBack = later.map(({ message, seconds }) => makeVisible(message, seconds))
  await withTimeout(Promise.allSettled(handedBack), handBackMilliseconds, tooLate).catch(() => undefined)
  return { batchItemFailures: later.map(({ message }) => ({ itemIdentifier: message.messageId })) }
}

/** Its effects are those of a message that is delivered twice. */
function tooLate(): Failure {
  return fail('DEPENDENCY.timeout')
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
