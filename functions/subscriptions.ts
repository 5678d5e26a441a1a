import { type TaskQueue, taskQueues } from '#shared/platform/events/outbox.ts'
import type { Use } from '#shared/platform/request/route.ts'
import type { TableUse } from '#shared/platform/table/table.ts'
import { sagaTable } from '#shared/refunds/refund-saga.ts'
import { settlementTable } from '#shared/refunds/settle-refund.ts'

/** Permissions of event-driven functions beyond those of request handlers. */
export type ConsumerUse =
  | 'bus.publish'
  | 'queues.send'
  | `queue.${TaskQueue}`
  | 'imports.start'
  | 'imports.describe'
  | 'reconciliations.send'
  | 'deliveries.send'
  | 'mail.send'
  | 'secret.probe'
  | 'address.call'

/** A function that AWS invokes for something other than a request. */
export interface Subscription {
  name: string
  folder: string
  description: string
  /**
   * The trigger: table changes with events or tasks, a task queue, the clock, or the user pool before it issues
   * tokens, or a command of an operator. A schedule sends a message to a daily queue, and the function sends further
   * ones. The probe runs each minute as well, but only on AWS and even during a freeze.
   */
  source:
    | { stream: 'outbox' | 'tasks' }
    | { queue: TaskQueue; daily?: true }
    | 'every.minute'
    | 'probe'
    | 'pool.token'
    | 'operators'
  uses: readonly (Use | ConsumerUse)[]
  /** What it reads and writes in the table. */
  table?: TableUse
  /** The impact of a failure on users, in a sentence: the text of its alarm. */
  impact: string
}

export const subscriptions: readonly Subscription[] = [
  {
    name: 'events.relay',
    folder: 'platform/relay-events',
    description: 'Publish the events in the stream of the table',
    source: { stream: 'outbox' },
    uses: ['bus.publish'],
    table: { get: ['subscribed-tenants'] },
    impact: 'Subscribers receive no events of the service.',
  },
  {
    name: 'tasks.enqueue',
    folder: 'platform/enqueue-tasks',
    description: 'Queue the work that follows a commit',
    source: { stream: 'tasks' },
    uses: ['queues.send'],
    impact:
      'The work after a commit waits: webhooks are stored but not handled, no mail is sent, and imports start late.',
  },
  {
    name: 'webhooks.handle',
    folder: 'webhooks/handle-event',
    description: 'Handle received events',
    source: { queue: 'webhooks' },
    // The key says whether events of live or of test mode count.
    uses: ['queue.webhooks', 'secret.payments'],
    table: {
      get: [
        ...settlementTable.get,
        'account',
        'account_owner',
        'blocked-tenants',
        'cart',
        'cart_line',
        'inbox',
        'order',
      ],
      getMany: ['code'],
      find: ['order', 'refund'],
      put: [...settlementTable.put, 'account', 'cart', 'cart_line', 'order'],
      update: [...settlementTable.update, 'inbox'],
      delete: settlementTable.delete,
    },
    impact: 'Orders, refunds and carts miss the changes that webhooks report.',
  },
  {
    name: 'otp.send',
    folder: 'otp/send-code',
    description: 'Send one-time codes by mail',
    source: { queue: 'mail' },
    uses: ['secret.one_time_codes', 'secret.mails', 'queue.mail', 'mail.send'],
    table: { get: ['mail', 'once', 'otp'], put: ['mail', 'once'], update: ['once'], delete: ['once'] },
    impact: 'Users receive no one-time codes and cannot log in with them.',
  },
  {
    name: 'otp.record-delivery',
    folder: 'otp/record-delivery',
    description: 'Record delivered mails and log bounces',
    source: { queue: 'mail_events' },
    uses: ['queue.mail_events'],
    table: { get: ['mail'], put: ['mail'] },
    impact: 'otp.delivered is published late, or not at all if the dead-letter queue is not redriven.',
  },
  {
    name: 'imports.start',
    folder: 'imports/start-import',
    description: 'Start the workflow of an import',
    source: { queue: 'imports' },
    uses: ['imports.start', 'queue.imports'],
    impact: 'Imports are accepted but start late.',
  },
  {
    name: 'operations.end-abandoned',
    folder: 'operations/end-abandoned',
    description: 'Fail imports whose workflow stopped',
    source: 'every.minute',
    uses: ['imports.start', 'imports.describe'],
    table: {
      get: ['operation', 'operation_count'],
      query: ['pending-operation'],
      put: ['failed-operation'],
      update: ['operation', 'operation_count'],
      delete: ['pending-operation'],
    },
    impact: 'Imports whose workflow stopped are reported as running.',
  },
  {
    name: 'sagas.finish',
    folder: 'platform/finish-sagas',
    description: 'Finish pending refunds, and ask the provider about those that it has not settled',
    source: 'every.minute',
    uses: ['secret.payments'],
    table: {
      get: [...sagaTable.get, 'backlogged-tenants', 'idempotency'],
      query: ['unsettled-refund', 'pending-saga'],
      put: [...sagaTable.put, 'backlogged-tenants', 'idempotency', 'pending-saga'],
      update: [...sagaTable.update, 'refund'],
      delete: [...sagaTable.delete, 'pending-saga'],
    },
    impact:
      'Interrupted refunds stay pending until their callers retry, and accepted ones until an event settles them.',
  },
  {
    name: 'refunds.reconcile',
    folder: 'refunds/reconcile-refunds',
    description: 'Compare the ledger with the refunds of the payment provider',
    source: { queue: 'reconciliations', daily: true },
    uses: ['secret.payments', 'queue.reconciliations', 'reconciliations.send'],
    table: {
      get: ['account', 'blocked-tenants', 'reconciled', 'refund'],
      put: ['reconciled'],
      query: ['account_owner', 'ledger', 'refund'],
    },
    impact: 'A refund that was paid twice, or that is missing in the ledger, is not noticed.',
  },
  {
    name: 'deliveries.create',
    folder: 'deliveries/create-deliveries',
    description: 'Queue the deliveries of published events to subscribers',
    source: { queue: 'published_events' },
    uses: ['deliveries.send', 'queue.published_events'],
    table: { get: ['blocked-tenants'], query: ['subscriber'], put: ['delivery', 'waiting_delivery'] },
    impact: 'Subscribers outside AWS receive no new events.',
  },
  {
    name: 'deliveries.send',
    folder: 'deliveries/send-deliveries',
    description: 'Send events to subscribers, and record the attempts',
    source: { queue: 'deliveries' },
    uses: ['secret.subscribers', 'deliveries.send', 'queue.deliveries'],
    table: {
      get: ['blocked-tenants', 'subscriber_health'],
      getMany: ['delivery', 'subscriber', 'subscriber_health'],
      put: ['audit', 'delivery', 'failed-delivery', 'waiting_delivery'],
      update: ['subscriber', 'subscriber_health'],
      delete: ['waiting_delivery'],
      check: ['subscriber'],
    },
    impact: 'Subscribers outside AWS receive no events.',
  },
  {
    name: 'deliveries.sweep',
    folder: 'deliveries/sweep-deliveries',
    description: 'Queue the deliveries that waited and are due',
    source: 'every.minute',
    uses: ['deliveries.send'],
    table: {
      get: ['blocked-tenants', 'subscribed-tenants'],
      getMany: ['subscriber', 'subscriber_health'],
      query: ['registered-subscriber', 'waiting_delivery'],
      put: ['subscribed-tenants'],
      delete: ['waiting_delivery'],
    },
    impact: 'Retries after more than 15 minutes and the events of resumed subscribers wait.',
  },
  {
    name: 'login.send-reset',
    folder: 'login/send-reset',
    description: 'Send mails for password resets',
    source: { queue: 'password_resets' },
    uses: ['secret.resets', 'pool.client', 'queue.password_resets'],
    table: { get: ['password_reset'], delete: ['password_reset'] },
    impact: 'Users receive no mail for a password reset.',
  },
  {
    name: 'login.add-claims',
    folder: 'login/add-claims',
    description: 'Add tenant, role and scopes to access tokens',
    source: 'pool.token',
    uses: [],
    table: { get: ['blocked-tenants'], put: ['audit'] },
    impact: 'Users can neither log in with a password nor renew a login.',
  },
  {
    name: 'address.probe',
    folder: 'platform/probe-address',
    description: 'Call the public address of the API',
    source: 'probe',
    uses: ['secret.probe', 'address.call'],
    impact: 'A loss of all requests is not noticed.',
  },
  {
    name: 'subscribers.prepare',
    folder: 'subscribers/prepare-subscriber',
    description: 'Check the addresses of subscribers and seal their secrets',
    source: 'operators',
    uses: ['secret.subscribers'],
    impact: 'Operators cannot register subscribers or rotate their secrets.',
  },
]

/** The names of the dead-letter queues: those of task queues, and of functions that the table's stream feeds. */
export const deadLetterNames: readonly string[] = [
  ...Object.keys(taskQueues),
  ...subscriptions.flatMap(({ name, source }) =>
    typeof source === 'object' && 'stream' in source ? [name] : [],
  ),
]
