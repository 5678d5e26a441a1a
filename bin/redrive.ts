import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs'
import { subscriptions } from '#functions/subscriptions.ts'
import { streamFunctionOutput } from '#lib/consumers.ts'
import { deadLettersOutput, queueOutput } from '#lib/queues.ts'
import { type TaskQueue, taskQueues } from '#shared/platform/events/outbox.ts'
import { printLine } from './command.ts'
import { deadLettersAt } from './dead-letters.ts'
import { type DeployedStack, outputOf, stackCommand } from './deployment.ts'
import { invoking, type Redriven, redriveStream, type StreamSource } from './redrive-stream.ts'
import { tableChanges } from './table-changes.ts'

const queues = Object.keys(taskQueues)
/** The functions that the table's stream feeds. Failed batches go to their dead-letter queues. */
export const streamed = new Map<string, StreamSource>(
  subscriptions.flatMap(({ name, source }) =>
    typeof source === 'object' && 'stream' in source ? [[name, source.stream]] : [],
  ),
)
const functions = [...streamed.keys()]
const usage = `usage: npm run -s redrive -- --queue NAME [--stack NAME]
       npm run -s redrive -- --stream FUNCTION [--stack NAME]
Returns the messages of a dead-letter queue to their queue: ${queues.join(', ')}.
With --stream, invokes a function again with its failed batches of the table's stream: ${functions.join(', ')}.
Changes older than 24 hours are no longer in the stream. They are rebuilt by reading the whole table.`

/**
 * Moves all messages back. Each is sent before it is deleted, so none is lost. A duplicate is handled once.
 * @returns how many messages were moved
 */
export async function redriveQueue(stack: DeployedStack, queue: TaskQueue): Promise<number> {
  const sqs = new SQSClient(stack.access)
  const from = deadLettersAt(outputOf(stack, deadLettersOutput(queue)), stack.access)
  const QueueUrl = outputOf(stack, queueOutput(queue))
  for (let moved = 0; ; ) {
    const letters = await from.receive()
    if (letters.length === 0) return moved
    for (const letter of letters) {
      await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: letter.body }))
      await from.remove(letter)
      moved += 1
    }
  }
}

/** Lets a function handle its failed batches again. */
export function redriveFunction(stack: DeployedStack, name: string, source: StreamSource): Promise<Redriven> {
  return redriveStream(source, {
    letters: deadLettersAt(outputOf(stack, deadLettersOutput(name)), stack.access),
    changes: tableChanges(outputOf(stack, 'TableName'), stack.access),
    handle: invoking(outputOf(stack, streamFunctionOutput(name)), stack.access),
    now: Date.now,
  })
}

if (import.meta.main)
  await stackCommand(usage, { queue: 'optional', stream: 'optional' }, async ({ queue, stream }, stack) => {
    if ((queue === undefined) === (stream === undefined))
      throw new Error(`--queue or --stream is required\n${usage}`)
    if (queue !== undefined) {
      if (!queues.includes(queue)) throw new Error(`there is no queue '${queue}': use ${queues.join(', ')}`)
      return printLine({ queue, moved: await redriveQueue(stack, queue as TaskQueue) })
    }
    const source = streamed.get(stream ?? '')
    if (!source) throw new Error(`the stream feeds no function '${stream}': use ${functions.join(', ')}`)
    const { faults, ...counts } = await redriveFunction(stack, stream ?? '', source)
    printLine({ stream, ...counts })
    if (faults.length > 0) throw new Error(faults.join('\n'))
  })
