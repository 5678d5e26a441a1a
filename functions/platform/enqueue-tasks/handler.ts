import type { DynamoDBBatchResponse, DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda'
import { eventFunction } from '#shared/platform/aws/runtime.ts'
import { sendAll } from '#shared/platform/aws/sqs.ts'
import { queueUrlVariable, type TaskQueue } from '#shared/platform/events/event-definition.ts'

/** The batch limit of one request to the queue. */
const batchSize = 10

interface QueuedTask {
  queue: TaskQueue
  body: string
  sequenceNumber: string
}

/**
 * Queues the tasks of new items, in the order of the stream. The stream redelivers from the first failed record, so
 * task handlers must expect duplicates.
 */
export const handler = eventFunction(
  {},
  async ({ Records }: DynamoDBStreamEvent, { log, environment }): Promise<DynamoDBBatchResponse> => {
    for (const batch of batchesOf(Records.flatMap(taskOf))) {
      const [{ queue }] = batch
      const bodies = batch.map(({ body }) => body)
      const url = environment(queueUrlVariable(queue)) ?? ''
      const failed = await sendAll(url, bodies).catch((fault: unknown) => {
        log.job({ code: 'TASKS_NOT_QUEUED', done: 0, failed: batch.length, fault })
        return batch.map(() => true)
      })
      const first = batch[failed.indexOf(true)]
      if (first) return { batchItemFailures: [{ itemIdentifier: first.sequenceNumber }] }
    }
    return { batchItemFailures: [] }
  },
)

function taskOf({ eventName, dynamodb }: DynamoDBRecord): QueuedTask[] {
  const { queue, body } = dynamodb?.NewImage?.task?.M ?? {}
  if (eventName !== 'INSERT' || !queue?.S || body?.S === undefined) return []
  return [{ queue: queue.S as TaskQueue, body: body.S, sequenceNumber: dynamodb?.SequenceNumber ?? '' }]
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
