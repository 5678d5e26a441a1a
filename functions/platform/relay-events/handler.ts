import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import { unmarshall } from '@aws-sdk/util-dynamodb'
import type { DynamoDBBatchResponse, DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda'
import { eventBridge } from '#shared/platform/aws/event-bridge.ts'
import { eventFunction } from '#shared/platform/aws/runtime.ts'
import { type Change, relay } from '#shared/platform/events/relay.ts'
import type { Item } from '#shared/platform/table/keys.ts'

/**
 * Publishes the events of the table's stream on the bus. Reports the first failed record: the stream redelivers from
 * there, and records that keep failing go to the dead-letter queue.
 */
export const handler = eventFunction(
  {},
  async ({ Records }: DynamoDBStreamEvent, { log, environment }): Promise<DynamoDBBatchResponse> => {
    const publish = eventBridge(environment('EVENT_BUS_NAME') ?? '')
    const { published, failedFrom, fault } = await relay(Records.map(changeOf), publish)
    const failed = failedFrom === undefined ? 0 : 1
    const code = failed ? 'EVENTS_NOT_PUBLISHED' : 'EVENTS_PUBLISHED'
    if (published > 0 || failed) log.relay({ code, published, failed, fault })
    return { batchItemFailures: failedFrom === undefined ? [] : [{ itemIdentifier: failedFrom }] }
  },
)

function changeOf({ dynamodb }: DynamoDBRecord): Change {
  return {
    sequenceNumber: dynamodb?.SequenceNumber ?? '',
    before: itemOf(dynamodb?.OldImage),
    after: itemOf(dynamodb?.NewImage),
  }
}

function itemOf(image: unknown): Item | undefined {
  return image === undefined ? undefined : (unmarshall(image as Record<string, AttributeValue>) as Item)
}
