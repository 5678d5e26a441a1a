import type { Use } from '#shared/platform/http/route.ts'

/** What a function that nobody calls may do beyond what those of requests may. */
export type ConsumerUse = 'bus.publish' | 'webhooks.send' | 'webhooks.receive'

/** A function that AWS invokes for something other than a request. */
export interface Subscription {
  name: string
  folder: string
  description: string
  /** What feeds it: changes of the table that carry events or that are received events; the queue of those; the clock. */
  source: 'stream.outbox' | 'stream.inbox' | 'queue.webhooks' | 'every.minute'
  uses: readonly (Use | ConsumerUse)[]
  /** What people lose when it fails, in a sentence: the text of its alarm. */
  breaks: string
}

export const subscriptions: readonly Subscription[] = [
  {
    name: 'events.relay',
    folder: 'platform/relay-events',
    description: 'Publish what the table’s stream carries',
    source: 'stream.outbox',
    uses: ['bus.publish'],
    breaks: 'Nothing that happens in the service reaches its subscribers.',
  },
  {
    name: 'webhooks.enqueue',
    folder: 'webhooks/enqueue-events',
    description: 'Queue received events',
    source: 'stream.inbox',
    uses: ['webhooks.send'],
    breaks: 'Events of other services are received and kept, but not handled.',
  },
  {
    name: 'webhooks.handle',
    folder: 'webhooks/handle-event',
    description: 'Handle received events',
    source: 'queue.webhooks',
    uses: ['table.read', 'table.find', 'table.write', 'table.update', 'table.delete', 'webhooks.receive'],
    breaks: 'Orders, refunds and carts do not follow what other services tell.',
  },
  {
    name: 'intents.finish',
    folder: 'platform/finish-intents',
    description: 'Finish refunds that were left pending',
    source: 'every.minute',
    uses: ['table.read', 'table.write', 'table.delete', 'secret.payments'],
    breaks: 'Refunds that were interrupted stay pending until their callers try again.',
  },
]
