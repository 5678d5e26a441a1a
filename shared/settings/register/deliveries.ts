import * as v from 'valibot'
import { count, integer, setting } from '../setting.ts'

/** Subscribers, and the deliveries of events to them. */
export const deliveries = {
  'deliveries.schedule': setting(
    'tuning',
    'Pauses before the retries of a delivery in seconds, the random part of each, and the longest pause that a Retry-After may ask for (Svix: 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 10 h)',
    v.strictObject({
      retriesAfterSeconds: v.array(count),
      jitter: v.pipe(v.number(), v.minValue(0), v.maxValue(1)),
      maxRetryAfterSeconds: integer(0, 7 * 24 * 3600),
    }),
  ),
  'deliveries.timeoutSeconds': setting(
    'tuning',
    'Time in which a subscriber has to respond, with the first kilobyte of its response (Svix: 15)',
    integer(1, 20),
  ),
  'deliveries.disableAfterDays': setting(
    'tuning',
    'How long a subscriber may fail without a success before it is disabled, in days (Svix: 5)',
    count,
  ),
  'deliveries.senders': setting(
    'tuning',
    'Number of processes that send deliveries on `staging` and `prod`, each up to ten at a time; two fifths as many look for the subscribers of events, and the slow calls of one tenant hold a tenth',
    integer(10, 1000),
  ),
  'deliveries.retentionDays': setting(
    'tuning',
    'How long a delivery is kept with its attempts, in days (Svix: 90)',
    count,
  ),
  'deliveries.addresses': setting(
    'deployment',
    'Where a subscriber may be: at public addresses, or also on the machine itself over HTTP, for the local run only',
    v.picklist(['public', 'public_and_loopback']),
  ),
  'subscribers.maxPerTenant': setting(
    'tuning',
    'Maximum number of subscribers of a tenant (Stripe: 16, Svix: 50)',
    integer(1, 64),
  ),
  'subscribers.secretOverlapSeconds': setting(
    'tuning',
    'How long an old secret still signs after a rotation, in seconds (Svix and Stripe: 24 hours)',
    count,
  ),
}
