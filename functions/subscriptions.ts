import type { TaskQueue } from '#shared/platform/events/tasks.ts'
import type { Use } from '#shared/platform/request/route.ts'

/** Permissions of event-driven functions beyond those of request handlers. */
export type ConsumerUse =
  | 'bus.publish'
  | 'queues.send'
  | `queue.${TaskQueue}`
  | 'imports.start'
  | 'imports.look'
  | 'mail.send'

/** A function that AWS invokes for something other than a request. */
export interface Subscription {
  name: string
  folder: string
  description: string
  /**
   * The trigger: table changes with events or tasks, a task queue, the clock, or the user pool before it issues
   * tokens.
   */
  source: { stream: 'outbox' | 'tasks' } | { queue: TaskQueue } | 'every.minute' | 'pool.token'
  uses: readonly (Use | ConsumerUse)[]
  /** The impact of a failure on users, in a sentence: the text of its alarm. */
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
      'What goes on after a request stands still: received events are kept, but not handled, no mail is sent, and imports begin late.',
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
    name: 'otp.send',
    folder: 'otp/send-code',
    description: 'Send one-time codes by mail',
    source: { queue: 'mail' },
    uses: [
      'table.read',
      'table.write',
      'table.update',
      'table.delete',
      'secret.read',
      'queue.mail',
      'mail.send',
    ],
    breaks: 'Nobody gets the one-time code that they asked for, so nobody can log in with one.',
  },
  {
    name: 'otp.note-delivery',
    folder: 'otp/note-delivery',
    description: 'Record delivered mails and log bounces',
    source: { queue: 'mail_events' },
    uses: ['table.read', 'table.write', 'queue.mail_events'],
    breaks: 'otp.delivered is published late, or not at all if the dead-letter queue is not redriven.',
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
  {
    name: 'login.send-reset',
    folder: 'login/send-reset',
    description: 'Send the mails of password resets',
    source: { queue: 'password_resets' },
    uses: ['table.read', 'table.delete', 'secret.read', 'pool.client', 'queue.password_resets'],
    breaks: 'Nobody gets the mail by which to set a new password.',
  },
  {
    name: 'login.add-claims',
    folder: 'login/add-claims',
    description: 'Add tenant, role and scopes to access tokens',
    source: 'pool.token',
    uses: ['table.write'],
    breaks: 'Nobody can log in with a password, nor stay logged in.',
  },
]
