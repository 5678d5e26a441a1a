import { EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge'
import { lazy } from '../base/cached-load.ts'
import type { PublishedEvent } from '../events/outbox.ts'
import type { Publish } from '../events/relay.ts'
import { httpHandler } from './http-handler.ts'

const client = lazy(() => new EventBridgeClient({ maxAttempts: 3, requestHandler: httpHandler(3000) }))

/**
 * Returns a publisher to an EventBridge bus.
 * @param resourcesOf returns the ARNs beside an event, by which a rule of the bus selects it
 */
export function eventBridge(
  busName: string,
  resourcesOf: (event: PublishedEvent) => string[] = () => [],
): Publish {
  return async (events) => {
    const entries = events.map((event) => ({
      EventBusName: busName,
      Source: event.source,
      DetailType: event.type,
      Resources: resourcesOf(event),
      Time: new Date(event.occurred_at),
      Detail: JSON.stringify(event),
    }))
    const { Entries: results = [] } = await client().send(new PutEventsCommand({ Entries: entries }))
    return events.map((_, index) => results[index]?.EventId === undefined)
  }
}
