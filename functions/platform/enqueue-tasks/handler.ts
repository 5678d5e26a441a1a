import type { DynamoDBRecord } from 'aws-lambda'
import { type Message, sendAll } from '#shared/platform/aws/sqs.ts'
import { type StreamContext, streamFunction } from '#shared/platform/aws/stream-function.ts'
import { queueUrlVariable, type TaskQueue } from '#shared/platform/events/outbox.ts'

/** The batch limit of one request to the queue. */
const batchSize = 10

interface QueuedTask {
  queue: TaskQueue
  message: Message
  sequenceNumber: string
}

/** Queues the tasks of new items, in the order of the stream. Task handlers must expect duplicates. */
export const handler = streamFunction((records, context) =>
  enqueueTasks(records, context, (queue, messages) =>
    sendAll(context.environment(queueUrlVariable(queue)) ?? '', messages),
  ),
)

/** @param send sends at most ten messages to a queue, and returns for each of them whether it failed */
export async function enqueueTasks(
  records: readonly DynamoDBRecord[],
  { log }: Pick<StreamContext, 'log'>,
  send: (queue: TaskQueue, messages: readonly Message[]) => Promise<boolean[]>,
): Promise<string | undefined> {
  for (const batch of batchesOf(records.flatMap(taskOf))) {
    const [{ queue }] = batch
    const failed = await send(
      queue,
      batch.map(({ message }) => message),
    ).catch((fault: unknown) => {
      log.job({ code: 'TASKS_NOT_QUEUED', done: 0, failed: batch.length, fault })
      return batch.map(() => true)
    })
    const first = batch[failed.indexOf(true)]
    if (first) return first.sequenceNumber
  }
  return undefined
}

function taskOf({ eventName, dynamodb }: DynamoDBRecord): QueuedTask[] {
  const { queue, body, group } = dynamodb?.NewImage?.task?.M ?? {}
  if (eventName !== 'INSERT' || !queue?.S || body?.S === undefined) return []
  const message = { body: body.S, group: group?.S ?? '' }
  return [{ queue: queue.S as TaskQueue, message, sequenceNumber: dynamodb?.SequenceNumber ?? '' }]
}

/** Groups adjacent tasks of one queue into batches of at most ten. */
function batchesOf(tasks: readonly QueuedTask[]): [QueuedTask, ...QueuedTask[]][] {
  const batches: [QueuedTask, ...QueuedTask[]][] = []
  for (const task of tasks) {
    const batch = batches.at(-1)
    if (batch && batch.length < batchSize && batch[0].queue === task.queue) batch.push(task)
    else batches.push([task])
  }
  return batches
}
