import type { DynamoDBRecord } from 'aws-lambda'
import { eventBridge } from '#shared/platform/aws/event-bridge.ts'
import { itemOf, streamFunction } from '#shared/platform/aws/stream-function.ts'
import { relay, type StreamChange } from '#shared/platform/events/relay.ts'
import { eventCarriers } from '../../events.ts'

/** Publishes the events of the table's stream on the bus, in order. */
export const handler = streamFunction(async (records, { log, environment, setAside }) => {
  const targets = {
    carriers: eventCarriers,
    publish: eventBridge(environment('EVENT_BUS_NAME') ?? ''),
    setAside,
  }
  const {
    published,
    refused,
    setAside: aside,
    failedFrom,
    fault,
  } = await relay(records.map(changeOf), targets)
  for (const { correlation_id: id, kind, type } of refused) {
    log.alert('CARRIER_REFUSED', { id, trace: {} }, { kind, carried: type })
  }
  const failed = failedFrom === undefined ? 0 : 1
  const code = failed ? 'EVENTS_NOT_PUBLISHED' : 'EVENTS_PUBLISHED'
  if (published > 0 || aside > 0 || failed) log.relay({ code, published, set_aside: aside, failed, fault })
  return failedFrom
})

function changeOf({ dynamodb }: DynamoDBRecord): StreamChange {
  return {
    sequenceNumber: dynamodb?.SequenceNumber ?? '',
    before: itemOf(dynamodb?.OldImage),
    after: itemOf(dynamodb?.NewImage),
  }
}
