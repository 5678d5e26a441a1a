import type { DynamoDBBatchResponse, DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda'
import { powertoolsLog } from '#shared/platform/logging/log.ts'
import { sendAll } from '#shared/platform/queue/webhook-queue.ts'
import { eventIdOf } from '#shared/webhooks/inbox.ts'

const log = powertoolsLog('commerce-api')
/** The most messages of one call. */
const batchSize = 10

/** Queues what came into the inbox. What is reported as failed is delivered again, and queued twice is handled once. */
export async function handler({ Records }: DynamoDBStreamEvent): Promise<DynamoDBBatchResponse> {
  const received = Records.flatMap((record) => {
    const eventId = receivedBy(record)
    return eventId === undefined ? [] : [{ eventId, number: record.dynamodb?.SequenceNumber ?? '' }]
  })
  for (let from = 0; from < received.length; from += batchSize) {
    const batch = received.slice(from, from + batchSize)
    const failed = await sendAll(
      process.env.WEBHOOKS_QUEUE_URL ?? '',
      batch.map(({ eventId }) => eventId),
    ).catch((fault: unknown) => {
      log.worked({ code: 'EVENTS_NOT_QUEUED', done: 0, failed: batch.length, fault })
      return batch.map(() => true)
    })
    const first = failed.indexOf(true)
    if (first >= 0) return { batchItemFailures: [{ itemIdentifier: batch[first]?.number ?? '' }] }
  }
  return { batchItemFailures: [] }
}

function receivedBy({ eventName, dynamodb }: DynamoDBRecord): string | undefined {
  return eventName === 'INSERT' ? eventIdOf(dynamodb?.Keys?.pk?.S ?? '') : undefined
}
