import type { DynamoDBRecord } from 'aws-lambda'
import { deployedTable } from '#shared/platform/aws/dynamodb-table.ts'
import { eventBridge } from '#shared/platform/aws/event-bridge.ts'
import { itemInImage, streamFunction } from '#shared/platform/aws/stream-function.ts'
import { startBudget, systemClock } from '#shared/platform/base/clock.ts'
import { relay, type StreamChange } from '#shared/platform/events/relay.ts'
import { subscriberCheck } from '#shared/subscribers/subscribed-tenants.ts'
import { eventCarriers } from '../../events.ts'

/** The time limit of reading which tenants have subscribers. */
const readMilliseconds = 2000

const readSubscribers = subscriberCheck(systemClock)

/**
 * Publishes the events of the table's stream on the bus, in order. Those of tenants that may have subscribers outside AWS name
 * the queue that looks for them.
 */
export const handler = streamFunction(async (records, { log, environment, setAside }) => {
  const access = { clock: systemClock, budget: startBudget(systemClock, readMilliseconds) }
  const mayHaveSubscribers = await readSubscribers(deployedTable(environment('TABLE_NAME') ?? '', access))
  const queue = environment('PUBLISHED_EVENTS_QUEUE_ARN') ?? ''
  const targets = {
    carriers: eventCarriers,
    publish: eventBridge(environment('EVENT_BUS_NAME') ?? '', ({ data }) =>
      mayHaveSubscribers(data.tenant_id) ? [queue] : [],
    ),
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
    before: itemInImage(dynamodb?.OldImage),
    after: itemInImage(dynamodb?.NewImage),
  }
}
