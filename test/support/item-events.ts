import { type PublishedEvent, publishedEvents } from '#shared/platform/events/outbox.ts'
import type { Item } from '#shared/platform/table/keys.ts'

/** Returns the events of an item's creation and latest change, as the service publishes them. */
export function eventsOf(item: Item): PublishedEvent[] {
  return publishedEvents(item)
}
