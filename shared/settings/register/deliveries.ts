import * as v from 'valibot'
import { count, integer, setting } from '../setting.ts'

/** Subscribers, and the deliveries of events to them. */
export const deliveries = {
  'deliveries.retentionDays': setting(
    'How long a delivery is kept with its attempts, in days (Svix: 90)',
    count,
  ),
  'deliveries.addresses': setting(
    'Where a subscriber may be: at public addresses, or also on the machine itself over HTTP, for the local run only',
    v.picklist(['public', 'public_and_loopback']),
  ),
  'subscribers.maxPerTenant': setting(
    'Maximum number of subscribers of a tenant (Stripe: 16, Svix: 50)',
    integer(1, 100),
  ),
  'subscribers.secretOverlapSeconds': setting(
    'How long an old secret still signs after a rotation, in seconds (Svix and Stripe: 24 hours)',
    count,
  ),
}
