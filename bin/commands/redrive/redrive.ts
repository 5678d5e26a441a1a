import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs'
import { subscriptions } from '#functions/subscriptions.ts'
import { deadLettersOutput, functionOutput, queueOutput } from '#lib/function-entries.ts'
import type { TaskQueue } from '#shared/platform/events/outbox.ts'
import { UsageError } from '../../cli/options.ts'
import type { Report } from '../../cli/output.ts'
import { deadLettersAt } from '../dead-letters.ts'
import { type DeployedStack, outputOf } from '../deployment.ts'
import { auditLetters, tenantOf } from '../inspect-dead-letters.ts'
import { operatorOf } from '../operator.ts'
import type { Window } from '../replay.ts'
import { invoking, type Redrive, redriveStream, redriveWindow, type StreamSource } from './redrive-stream.ts'
import { tableChanges } from './table-changes.ts'

/** The functions that the table's stream feeds, with the changes that each receives. */
const streamed = new Map<string, StreamSource>(
  subscriptions.flatMap(({ name, source }) =>
    typeof source === 'object' && 'stream' in source ? [[name, source.stream]] : [],
  ),
)

/** How a redrive is run. */
interface Options {
  /** The time whose changes a function of the stream handles again without dead letters. */
  window?: Window | undefined
  report?: Report
}

/**
 * Returns messages to their queue, or lets a function handle changes of the table's stream again: its failed batches, or
 * all changes of a time.
 * @throws Error with the reasons if messages of a function remain; UsageError for the time of a queue
 */
export async function redrive(
  stack: DeployedStack,
  name: string,
  { window, report = () => {} }: Options = {},
): Promise<object> {
  const source = streamed.get(name)
  if (!source) {
    if (window) throw new UsageError(`--from and --to need one of: ${Array.from(streamed.keys()).join(', ')}`)
    return { name, messages: await redriveQueue(stack, name as TaskQueue, report) }
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
  const { faults, lost, ...counts } = await redriveStream(source, work)
  if (faults.length > 0)
    throw new Error(
      `${counts.left} messages remain, ${lost} changes cannot be rebuilt:\n${faults.join('\n')}`,
    )
  return { name, ...counts }
}

/**
 * Moves all messages back, after the audit of their tenants recorded it. Each is sent before it is deleted, so none is lost. A duplicate is handled once.
 * @returns how many messages were moved
 */
async function redriveQueue(stack: DeployedStack, queue: TaskQueue, report: Report): Promise<number> {
  const sqs = new SQSClient(stack.access)
  const from = deadLettersAt(outputOf(stack, deadLettersOutput(queue)), stack.access)
  const QueueUrl = outputOf(stack, queueOutput(queue))
  const operator = await operatorOf(stack)
  for (let moved = 0; ; ) {
    const letters = await from.receive()
    if (letters.length === 0) return moved
    const ofTenants = Map.groupBy(letters, (letter) => tenantOf(letter, queue))
    for (const [tenant, { length: messages }] of ofTenants)
      await auditLetters(operator, { name: queue, action: 'redrive', after: { messages }, tenant })
    for (const letter of letters) {
      const { body: MessageBody, group: MessageGroupId } = letter
      await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody, MessageGroupId }))
      await from.remove(letter)
      moved += 1
      report(`${moved} messages moved`)
    }
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
