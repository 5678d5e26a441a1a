import type { DynamoDBRecord } from 'aws-lambda'
import { type QueueMessage, sendAll } from '#shared/platform/aws/sqs.ts'
import { type StreamContext, streamFunction } from '#shared/platform/aws/stream-function.ts'
import { isTaskQueue, queueUrlVariable, type TaskQueue, taskQueues } from '#shared/platform/events/outbox.ts'
import { ownerOf } from '#shared/platform/table/keys.ts'

/** The batch limit of one request to the queue. */
const batchSize = 10

interface QueuedTask {
  queue: TaskQueue
  message: QueueMessage
  sequenceNumber: string
}

/** Queues the tasks of new items, in the order of the stream. Task handlers must expect duplicates. */
export const handler = streamFunction((records, context) =>
  enqueueTasks(records, context, (queue, messages) =>
    sendAll(context.environment(queueUrlVariable(queue)) ?? '', messages),
  ),
)

/**
 * Queues tasks up to the first failure. No task stops the stream: one on an item whose tasks its queue does not take is
 * refused, and one for a queue that this release does not know is set aside.
 * @param send sends at most ten messages to a queue, and returns for each of them whether it failed
 */
export async function enqueueTasks(
  records: readonly DynamoDBRecord[],
  { log, setAside }: Pick<StreamContext, 'log' | 'setAside'>,
  send: (queue: TaskQueue, messages: readonly QueueMessage[]) => Promise<boolean[]>,
): Promise<string | undefined> {
  const tasks: QueuedTask[] = []
  let unknown: string | undefined
  for (const { eventName, dynamodb } of records) {
    const { queue, body, group } = dynamodb?.NewImage?.task?.M ?? {}
    if (eventName !== 'INSERT' || queue?.S === undefined || body?.S === undefined) continue
    const sequenceNumber = dynamodb?.SequenceNumber ?? ''
    const { entity: kind } = ownerOf(dynamodb?.NewImage?.pk?.S ?? '')
    if (!isTaskQueue(queue.S)) {
      const isAside = await setAside(sequenceNumber, `this release does not know the queue ${queue.S}`).then(
        () => true,
        (fault: unknown) => log.job({ code: 'TASKS_NOT_QUEUED', done: 0, failed: 1, fault }),
      )
      if (isAside) continue
      unknown = sequenceNumber
      break
    }
    if (taskQueues[queue.S].carriers.some((carrier) => carrier === kind)) {
      tasks.push({ queue: queue.S, message: { body: body.S, group: group?.S ?? '' }, sequenceNumber })
    } else {
      const id = dynamodb?.NewImage?.correlation_id?.S ?? ''
      log.alert('CARRIER_REFUSED', { id, trace: {} }, { kind, carried: queue.S })
    }
  }
  for (const batch of batchesOfQueue(tasks)) {
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
  return unknown
}

/** Groups adjacent tasks of one queue into batches of at most ten. */
function batchesOfQueue(tasks: readonly QueuedTask[]): [QueuedTask, ...QueuedTask[]][] {
  const batches: [QueuedTask, ...QueuedTask[]][] = []
  for (const task of tasks) {
    const batch = batches.at(-1)
    if (batch && batch.length < batchSize && batch[0].queue === task.queue) batch.push(task)
    else batches.push([task])
  }
  return batches
}
