import type { Use } from '#shared/platform/http/route.ts'
import type { TaskQueue } from '#shared/platform/queue/tasks.ts'

/** What a function that nobody calls may do beyond what those of requests may. */
export type ConsumerUse =
  | 'bus.publish'
  | 'queues.send'
  | `queue.${TaskQueue}`
  | 'imports.start'
  | 'imports.look'

/** A function that AWS invokes for something other than a request. */
export interface Subscription {
  name: string
  folder: string
  description: string
  /** What feeds it: changes of the table that carry events, or tasks; a queue of tasks; the clock. */
  source: { stream: 'outbox' | 'tasks' } | { queue: TaskQueue } | 'every.minute'
  uses: readonly (Use | ConsumerUse)[]
  /** What people lose when it fails, in a sentence: the text of its alarm. */
  breaks: string
}

export const subscriptions: readonly Subscription[] = [
  {
    name: 'events.relay',
    folder: 'platform/relay-events',
    description: 'Publish what the table’s stream carries',
    source: { stream: 'outbox' },
    uses: ['bus.publish'],
    breaks: 'Nothing that happens in the service reaches its subscribers.',
  },
  {
    name: 'tasks.enqueue',
    folder: 'platform/enqueue-tasks',
    description: 'Queue the work that goes on after a commit',
    source: { stream: 'tasks' },
    uses: ['queues.send'],
    breaks:
      'What goes on after a request stands still: received events are kept, but not handled; imports begin late.',
  },
  {
    name: 'webhooks.handle',
    folder: 'webhooks/handle-event',
    description: 'Handle received events',
    source: { queue: 'webhooks' },
    uses: ['table.read', 'table.find', 'table.write', 'table.update', 'table.delete', 'queue.webhooks'],
    breaks: 'Orders, refunds and carts do not follow what other services tell.',
  },
  {
    name: 'imports.start',
    folder: 'imports/start-import',
    description: 'Start the workflow of an import',
    source: { queue: 'imports' },
    uses: ['imports.start', 'queue.imports'],
    breaks: 'Imports are taken, but begin late.',
  },
  {
    name: 'operations.end-abandoned',
    folder: 'operations/end-abandoned',
    description: 'End operations whose workflow is gone',
    source: 'every.minute',
    uses: ['table.read', 'table.write', 'table.update', 'table.delete', 'imports.start', 'imports.look'],
    breaks: 'Imports whose workflow was stopped are told as running.',
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
