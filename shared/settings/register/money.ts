import * as v from 'valibot'
import { setting } from '../setting.ts'

const count = v.pipe(v.number(), v.integer(), v.minValue(1))

export const money = {
  'refunds.provider': setting({
    open: 'the payment provider, its endpoint, and how long one attempt may take in milliseconds',
    contract: 'POST /v1/refunds',
    feature: 'refunds',
    precedent: 'Stripe API',
    schema: v.strictObject({
      name: v.picklist(['stripe']),
      endpoint: v.pipe(v.string(), v.url()),
      attemptMilliseconds: v.pipe(count, v.maxValue(10_000)),
    }),
  }),
  'refunds.account': setting({
    open: 'which connected account of the provider holds the charges of a tenant: a named one, else the optional prefix and the tenant; without both the tenant is refused',
    contract: 'POST /v1/refunds',
    feature: 'refunds',
    precedent: 'Stripe Connect',
    schema: v.strictObject({
      accounts: v.record(v.string(), v.string()),
      prefix: v.exactOptional(v.string()),
    }),
  }),
  'refunds.fields': setting({
    open: 'the fields of a refund in a reply beyond id',
    contract: 'Refund',
    feature: 'refunds',
    precedent: 'Stripe',
    schema: v.array(v.picklist(['id', 'charge_id', 'amount', 'status', 'created_at'])),
  }),
  'refunds.policy': setting({
    open: 'whether a new key with the same payload refunds again',
    contract: 'POST /v1/refunds',
    feature: 'refunds',
    precedent: 'Stripe',
    schema: v.picklist(['within_charge', 'once_per_charge']),
  }),
}

export const webhooks = {
  'webhooks.scheme': setting({
    open: 'header names, digest and signed text of a webhook signature',
    contract: 'Events',
    feature: 'webhooks',
    precedent: 'Standard Webhooks 1.0',
    schema: v.strictObject({
      idHeader: v.string(),
      timestampHeader: v.string(),
      signatureHeader: v.string(),
      digest: v.picklist(['sha256']),
      prefix: v.string(),
    }),
  }),
  'webhooks.windowSeconds': setting({
    open: 'the replay window, both ways, in seconds',
    contract: 'Events',
    feature: 'webhooks',
    precedent: 'Standard Webhooks, Stripe',
    schema: v.pipe(count, v.maxValue(3600)),
  }),
  'webhooks.futureSeconds': setting({
    open: 'how far occurred_at may lie ahead of the clock, in seconds; a later one is 400',
    contract: 'Events',
    feature: 'webhooks',
    schema: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(3600)),
  }),
  'webhooks.status': setting({
    open: 'the success status, for a duplicate too',
    contract: 'POST /v1/webhooks/events',
    feature: 'webhooks',
    precedent: 'CloudEvents webhook',
    schema: v.picklist([200, 202, 204]),
  }),
  'webhooks.maxAttempts': setting({
    open: 'attempts before the dead-letter queue',
    contract: 'Events',
    feature: 'webhooks',
    precedent: 'AWS guidance for SQS',
    schema: v.pipe(count, v.maxValue(20)),
  }),
  'webhooks.maxBytes': setting({
    open: 'the largest body in bytes',
    contract: 'Limits',
    feature: 'webhooks',
    precedent: 'SQS: 256 KB',
    schema: v.pipe(count, v.maxValue(262_144)),
  }),
  'webhooks.inboxDays': setting({
    open: 'how long an event id is remembered, in days',
    contract: 'Events',
    feature: 'webhooks',
    schema: count,
  }),
  'events.payloads': setting({
    open: 'the fields of the events that show none: the id of the resource and its tenant',
    contract: 'Events',
    feature: 'events',
    schema: v.picklist(['id_and_tenant']),
  }),
  'events.maxAttempts': setting({
    open: 'attempts of the functions that read the table stream before the dead-letter queue',
    contract: 'Events',
    feature: 'events',
    precedent: 'AWS guidance for streams',
    schema: v.pipe(count, v.maxValue(10_000)),
  }),
  'events.replay': setting({
    open: 'how events are replayed, and for how many days they are kept for it',
    contract: 'Events',
    feature: 'events',
    precedent: 'EventBridge archive and SQS redrive',
    schema: v.strictObject({ mode: v.picklist(['archive']), archiveDays: count }),
  }),
}
