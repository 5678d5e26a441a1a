import { type Outbox, type PublishedEvent, publishedEvents } from '#shared/platform/events/outbox.ts'
import type { Item } from '#shared/platform/table/keys.ts'

/** Returns the events of an item's first and latest commit, as the service publishes them. */
export function eventsOf(item: Item): PublishedEvent[] {
  return publishedEvents(item)
}

/** Returns the events of an item's latest commit with events. */
export function latestEventsOf(item: Item): PublishedEvent[] {
  const { first: _, ...outbox } = (item.outbox ?? { events: [] }) as Outbox
  return publishedEvents({ ...item, outbox })
}
