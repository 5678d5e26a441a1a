import { parseArgs } from 'node:util'
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs'
import { subscriptions } from '#functions/subscriptions.ts'
import { streamDeadLettersOutput, streamFunctionOutput } from '#lib/consumers.ts'
import { deadLettersOutput, queueOutput } from '#lib/work-queues.ts'
import { type TaskQueue, taskQueues } from '#shared/platform/events/tasks.ts'
import { run } from './command.ts'
import { deadLettersAt } from './dead-letters.ts'
import { type DeployedStack, deployedStack, outputOf, stackUsage } from './deployment.ts'
import { invoking, type Redriven, redriveStream, type StreamSource } from './redrive-stream.ts'
import { tableChanges } from './table-changes.ts'

const queues = Object.keys(taskQueues).join(', ')
const streamed: Readonly<Record<string, StreamSource>> = Object.fromEntries(
  subscriptions.flatMap(({ name, source }) =>
    typeof source === 'object' && 'stream' in source ? [[name, source.stream]] : [],
  ),
)
const usage = `usage: npm run -s redrive -- --queue NAME [--stack NAME]
       npm run -s redrive -- --stream FUNCTION [--stack NAME]
Puts what lies in the dead-letter queue of a queue back, to be tried again. Queues: ${queues}.
Or lets a function handle what it gave up of the table's stream. Functions: ${Object.keys(streamed).join(', ')}.
What the stream has forgotten after a day is found by reading the whole table.
${stackUsage}`

/**
 * Moves all messages back. Each is sent before it is deleted, so none is lost. A duplicate is handled once.
 * @returns how many messages were moved
 */
export async function redrive(stack: DeployedStack, queue: TaskQueue): Promise<number> {
  const sqs = new SQSClient(stack.access)
  const from = deadLettersAt(outputOf(stack, deadLettersOutput(queue)), stack.access)
  const to = outputOf(stack, queueOutput(queue))
  for (let moved = 0; ; ) {
    const letters = await from.receive()
    if (letters.length === 0) return moved
    for (const letter of letters) {
      await sqs.send(new SendMessageCommand({ QueueUrl: to, MessageBody: letter.body }))
      await from.remove(letter)
      moved += 1
    }
  }
}

/** Lets a function of a deployment handle its failed batches of the table's stream again. */
export async function redriveDeployed(stack: DeployedStack, name: string): Promise<Redriven> {
  const source = Object.hasOwn(streamed, name) ? streamed[name] : undefined
  if (!source) throw new Error(`no function '${name}' is fed by the stream`)
  return redriveStream(source, {
    letters: deadLettersAt(outputOf(stack, streamDeadLettersOutput(name)), stack.access),
    changes: tableChanges(outputOf(stack, 'TableName'), stack.access),
    handle: invoking(outputOf(stack, streamFunctionOutput(name)), stack.access),
    now: Date.now,
  })
}

async function main(): Promise<void> {
  const text = { type: 'string' } as const
  const { values } = parseArgs({ options: { queue: text, stream: text, stack: text } })
  const { queue, stream } = values
  if ((queue === undefined) === (stream === undefined)) throw new Error('--queue or --stream is needed')
  if (queue !== undefined && !Object.hasOwn(taskQueues, queue))
    throw new Error(`there is no queue '${queue}'`)
  const stack = await deployedStack(values.stack)
  if (queue !== undefined) {
    console.log(JSON.stringify({ queue, moved: await redrive(stack, queue as TaskQueue) }))
    return
  }
  const { faults, ...told } = await redriveDeployed(stack, stream ?? '')
  console.log(JSON.stringify({ stream, ...told }))
  if (faults.length === 0) return
  console.error(faults.join('\n'))
  process.exitCode = 1
}

if (import.meta.main) await run(usage, main)
