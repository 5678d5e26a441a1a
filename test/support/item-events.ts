import { type Outbox, type PublishedEvent, publishedEvents } from '#shared/platform/events/outbox.ts'
import type { Item } from '#shared/platform/table/keys.ts'

/** Returns the events of an item's first and latest commit, as a subscriber of their first version receives them. */
export function eventsOf(item: Item): PublishedEvent[] {
  return publishedEvents(item).filter(({ version }) => version === 1)
}

/** Returns the events of an item's latest commit with events. */
export function latestEventsOf(item: Item): PublishedEvent[] {
  const { first: _, ...outbox } = (item.outbox ?? { events: [] }) as Outbox
  return publishedEvents({ ...item, outbox })
}
