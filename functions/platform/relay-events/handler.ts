import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import { unmarshall } from '@aws-sdk/util-dynamodb'
import type { DynamoDBBatchResponse, DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda'
import { eventBridge } from '#shared/platform/events/event-bridge.ts'
import { type Change, relay } from '#shared/platform/events/relay.ts'
import { powertoolsLog } from '#shared/platform/logging/log.ts'
import type { Item } from '#shared/platform/table/keys.ts'

const log = powertoolsLog('commerce-api')

/**
 * Puts what the table's stream carries on the bus. A failure is reported from its record on: the stream
 * delivers again from there, and what never gets through ends in the dead-letter queue.
 */
export async function handler(event: DynamoDBStreamEvent): Promise<DynamoDBBatchResponse> {
  const changes = event.Records.map(changeOf)
  const { published, failedFrom, fault } = await relay(changes, eventBridge(process.env.EVENT_BUS_NAME ?? ''))
  const failed = failedFrom === undefined ? 0 : 1
  const code = failed ? 'EVENTS_NOT_PUBLISHED' : 'EVENTS_PUBLISHED'
  if (published > 0 || failed) log.relayed({ code, published, failed, fault })
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
