import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import { unmarshall } from '@aws-sdk/util-dynamodb'
import type { DynamoDBBatchResponse, DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda'
import { eventBridge } from '#shared/platform/aws/event-bridge.ts'
import { powertoolsLog } from '#shared/platform/base/log.ts'
import { type Change, relay } from '#shared/platform/events/relay.ts'
import type { Item } from '#shared/platform/table/keys.ts'

const log = powertoolsLog('commerce-api')

/**
 * Publishes the events of the table's stream on the bus. Reports the first failed record: the stream redelivers from
 * there, and records that keep failing go to the dead-letter queue.
 */
export async function handler(event: DynamoDBStreamEvent): Promise<DynamoDBBatchResponse> {
  const changes = event.Records.map(changeOf)
  const { published, failedFrom, fault } = await relay(changes, eventBridge(process.env.EVENT_BUS_NAME ?? ''))
  const failed = failedFrom === undefined ? 0 : 1
  const code = failed ? 'EVENTS_NOT_PUBLISHED' : 'EVENTS_PUBLISHED'
  if (published > 0 || failed) log.relay({ code, published, failed, fault })
  return { batchItemFailures: failedFrom === undefined ? [] : [{ itemIdentifier: failedFrom }] }
}

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
