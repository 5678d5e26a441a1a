import * as v from 'valibot'
import { count, headerName, integer, linkSeconds, setting, some, text } from '../setting.ts'

const payloadAdvice = 'say id_and_tenant or resource for this event'
const payload = v.picklist(['id_and_tenant', 'resource'], payloadAdvice)
const payloads = { 'order.created': payload, 'order.paid': payload, 'refund.succeeded': payload }

/** A chunk of a larger file could have more rejected rows than its item can hold. */
export const largestMaxRows = 5_000_000
/** What a host that sends 1 MB a second sends within the time that a download may take (`fetchLimits`). */
const largestFileUrl = 600 * 1024 * 1024

/** Imports, operations, webhooks and events. */
export const workflows = {
  'imports.request': setting(
    'product',
    'Accepted kinds of upload',
    some(v.picklist(['text/csv', 'file_url'])),
  ),
  'imports.maxBytes': setting(
    'tuning',
    'Maximum upload size in bytes, inline and by file_url; a file by file_url has to arrive within 10 minutes',
    v.strictObject({ inline: count, fileUrl: integer(1, largestFileUrl) }),
  ),
  'imports.maxRows': setting(
    'tuning',
    'Maximum number of rows of a file; a larger file fails as a whole',
    integer(1, largestMaxRows),
  ),
  'imports.inProgressPerTenant': setting(
    'tuning',
    'Maximum number of operations of a tenant in progress; further ones get 429 (BigQuery and Salesforce: concurrent jobs per account)',
    integer(1, 1000),
  ),
  'imports.writeUnitsPerSecond': setting(
    'tuning',
    'Write units of the table that the imports of all tenants use in a second, in all (DynamoDB: a new on-demand table has 4,000)',
    count,
  ),
  'imports.result': setting(
    'tuning',
    'Number of rejects in the result of an operation, and the lifetime of the link to all of them in seconds',
    v.strictObject({ rejectsShown: integer(1, 1000), linkSeconds }),
  ),
  'operations.cancel': setting(
    'product',
    'Verb and status of a cancellation (Azure, AIP-151)',
    v.strictObject({ verb: text(/^[A-Za-z]+$/), status: v.picklist([200, 202]) }),
  ),
  'operations.retentionDays': setting(
    'tuning',
    'How long an operation is kept, in days; a lower value deletes the rejected rows of earlier imports before their operations, so their rejects_url fails (AIP-151)',
    count,
  ),
  'operations.retryAfter': setting(
    'tuning',
    'Polling interval for an operation in progress, in seconds (Azure)',
    count,
  ),

  'webhooks.scheme': setting(
    'product',
    'Header names, digest and signed text of a webhook signature, also of events to subscribers (Standard Webhooks 1.0)',
    v.strictObject({
      idHeader: headerName,
      timestampHeader: headerName,
      signatureHeader: headerName,
      digest: v.picklist(['sha256', 'sha512']),
      // Spaces separate the signatures of one header.
      prefix: text(/^[\x21-\x7e]*$/, 'visible characters of ASCII'),
    }),
  ),
  'webhooks.windowSeconds': setting(
    'tuning',
    'Maximum distance of the signed timestamp from the clock, in seconds (Standard Webhooks, Stripe)',
    integer(1, 3600),
  ),
  'webhooks.status': setting(
    'product',
    'Success status, also for a duplicate (CloudEvents webhook)',
    v.picklist([200, 202, 204]),
  ),
  'webhooks.maxAttempts': setting(
    'tuning',
    'Attempts before the dead-letter queue (AWS guidance for SQS)',
    integer(1, 20),
  ),
  'webhooks.maxBytes': setting('tuning', 'Maximum body size in bytes (SQS: 256 KB)', integer(1, 262_144)),
  'webhooks.inboxDays': setting(
    'tuning',
    'How long a received event is stored to detect duplicates, in days; at least as long as dead letters are kept',
    integer(14),
  ),
  'events.payloads': setting(
    'product',
    'Data of each event that is about an order or a refund and has no specified fields: its id and tenant, or the resource as callers read it (Stripe snapshot events)',
    v.strictObject(payloads, ({ expected }) =>
      expected === 'never' ? `it decides ${Object.keys(payloads).join(', ')} only` : payloadAdvice,
    ),
  ),
  'events.replay': setting(
    'tuning',
    'How many days published events are archived, for a replay by an operator (EventBridge archive)',
    v.strictObject({ archiveDays: count }),
  ),
}
