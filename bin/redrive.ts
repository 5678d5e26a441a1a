import { parseArgs } from 'node:util'
import {
  DeleteMessageCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs'
import { deadLettersOutput, queueOutput } from '#lib/work-queues.ts'
import { type TaskQueue, taskQueues } from '#shared/platform/queue/tasks.ts'
import { needed, run } from './command.ts'
import { type DeployedStack, deployedStack, outputOf, stackUsage } from './deployment.ts'

const names = Object.keys(taskQueues).join(', ')
const usage = `usage: npm run -s redrive -- --queue NAME [--stack NAME]
Puts what lies in the dead-letter queue of a queue back, to be tried again. Queues: ${names}.
${stackUsage}`

/**
 * Moves all messages back. Each is sent before it is deleted, so that none is lost: one that comes twice is handled once.
 * @returns how many were moved
 */
export async function redrive(stack: DeployedStack, queue: TaskQueue): Promise<number> {
  const sqs = new SQSClient(stack.access)
  const from = outputOf(stack, deadLettersOutput(queue))
  const to = outputOf(stack, queueOutput(queue))
  for (let moved = 0; ; ) {
    const { Messages = [] } = await sqs.send(
      new ReceiveMessageCommand({ QueueUrl: from, MaxNumberOfMessages: 10, WaitTimeSeconds: 1 }),
    )
    if (Messages.length === 0) return moved
    for (const { Body: MessageBody, ReceiptHandle } of Messages) {
      await sqs.send(new SendMessageCommand({ QueueUrl: to, MessageBody }))
      await sqs.send(new DeleteMessageCommand({ QueueUrl: from, ReceiptHandle }))
      moved += 1
    }
  }
}

async function main(): Promise<void> {
  const text = { type: 'string' } as const
  const { values } = parseArgs({ options: { queue: text, stack: text } })
  const queue = needed(values.queue, 'queue')
  if (!Object.hasOwn(taskQueues, queue)) throw new Error(`there is no queue '${queue}'`)
  const moved = await redrive(await deployedStack(values.stack), queue as TaskQueue)
  console.log(JSON.stringify({ queue, moved }))
}

if (import.meta.main) await run(usage, main)
