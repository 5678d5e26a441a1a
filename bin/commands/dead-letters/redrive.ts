import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs'
import { subscriptions } from '#functions/subscriptions.ts'
import { deadLettersOutput, functionOutput, queueOutput } from '#lib/functions/function-names.ts'
import type { TaskQueue } from '#shared/platform/events/outbox.ts'
import { UsageError } from '../../cli/options.ts'
import type { Report } from '../../cli/output.ts'
import type { TimeRange } from '../events/replay.ts'
import { type DeployedStack, outputOf } from '../stack/deployment.ts'
import { operatorOn } from '../stack/operator.ts'
import { deadLettersAt, type LetterSelection } from './dead-letters.ts'
import { auditLetters } from './inspect-dead-letters.ts'
import { type QueueRedrive, redriveQueue } from './redrive-queue.ts'
import { invoking, type Redrive, redriveStream, redriveWindow, type StreamSource } from './redrive-stream.ts'
import { tableChanges } from './table-changes.ts'

/** The functions that the table's stream feeds, with the changes that each receives. */
const streamed = new Map<string, StreamSource>(
  subscriptions.flatMap(({ name, source }) =>
    typeof source === 'object' && 'stream' in source ? [[name, source.stream]] : [],
  ),
)

/** How a redrive is run. */
interface Options extends LetterSelection {
  /** The time whose changes a function of the stream handles again without dead letters. */
  window?: TimeRange | undefined
  report?: Report
}

/**
 * Returns messages to their queue, or lets a function handle changes of the table's stream again: its failed batches, or
 * all changes of a time. It takes those that stand there when it begins.
 * @throws Error with the reasons if messages of a function remain, or for a message that is not there; UsageError for the time
 * of a queue
 */
export async function redrive(
  stack: DeployedStack,
  name: string,
  { window, report = () => {}, ...selection }: Options = {},
): Promise<object> {
  const source = streamed.get(name)
  if (!source) {
    if (window) throw new UsageError(`--from and --to need one of: ${Array.from(streamed.keys()).join(', ')}`)
    const work = await queueRedriveOf(stack, name as TaskQueue, report)
    return { name, messages: requireFound(await redriveQueue(work, selection), name, selection) }
  }
  const work = redriveOf(stack, name, report)
  if (window) {
    const { from_table, lost } = await redriveWindow(source, window, work)
    if (lost.length > 0)
      throw new Error(
        `${from_table} items handled, ${lost.length} changes cannot be rebuilt:\n${lost.join('\n')}`,
      )
    return { name, from_table }
  }
  const { faults, lost, ...counts } = await redriveStream(source, work, selection)
  if (faults.length > 0)
    throw new Error(
      `${counts.left} messages remain, ${lost} changes cannot be rebuilt:\n${faults.join('\n')}`,
    )
  requireFound(counts.messages, name, selection)
  return { name, ...counts }
}

/** @throws Error if a message was named, and the queue does not have it */
function requireFound(messages: number, name: string, { id }: LetterSelection): number {
  if (id === undefined || messages > 0) return messages
  throw new Error(`the dead letters of ${name} have no message ${id}: another command may hold it`)
}

/** Returns the dependencies of a redrive of a deployed queue. */
async function queueRedriveOf(stack: DeployedStack, queue: TaskQueue, report: Report): Promise<QueueRedrive> {
  const sqs = new SQSClient(stack.access)
  const QueueUrl = outputOf(stack, queueOutput(queue))
  const operator = await operatorOn(stack)
  return {
    ...{ queue, report, now: Date.now },
    letters: deadLettersAt(outputOf(stack, deadLettersOutput(queue)), stack.access),
    async send({ body: MessageBody, group: MessageGroupId }) {
      const { MessageId = '' } = await sqs.send(
        new SendMessageCommand({ QueueUrl, MessageBody, MessageGroupId }),
      )
      return MessageId
    },
    audit: (tenant, messages) =>
      auditLetters(operator, { name: queue, action: 'redrive', after: { messages }, tenant }),
  }
}

/** Returns the dependencies of a redrive of a deployed function. */
function redriveOf(stack: DeployedStack, name: string, report: Report): Redrive {
  const invoke = invoking(outputOf(stack, functionOutput(name)), stack.access)
  let handled = 0
  return {
    letters: deadLettersAt(outputOf(stack, deadLettersOutput(name)), stack.access),
    changes: tableChanges(outputOf(stack, 'TableName'), stack.access),
    async handle(records) {
      await invoke(records)
      handled += records.length
      report(`${handled} changes handled`)
    },
    now: Date.now,
  }
}
