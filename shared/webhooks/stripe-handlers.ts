import * as v from 'valibot'
import { timestamp } from '../platform/base/clock.ts'
import { put } from '../platform/table/table.ts'
import { accountKey, currentPut, findAccount, ownerOfAccount, readCurrent } from '../refunds/accounts.ts'
import type { Refund } from '../refunds/refund.ts'
import type { ProviderReport } from '../refunds/refund-states.ts'
import { findRefund } from '../refunds/refund-store.ts'
import { settleRefund } from '../refunds/settle-refund.ts'
import {
  metadataName,
  requestMetadataName,
  stripeStatuses,
  tenantMetadataName,
} from '../refunds/stripe-refund.ts'
import type { Handler, HandlerContext } from './handler.ts'
import { StoredData } from './stripe-event.ts'
import type { WebhookEvent } from './webhook-event.ts'

type StripeRefund = NonNullable<v.InferOutput<typeof StoredData>['refund']>

/**
 * Applies what Stripe says about a refund. The owner of an account can edit the metadata of its refunds, and live endpoints
 * get test events, too: a report counts only if everything that it names is the refund's. The name of the request keeps a
 * payout from a refund that waits for its own one. Any other is ignored, because Stripe would repeat it in vain. A refund
 * that was made outside the service is left to the daily comparison.
 */
const refundReport: Handler = async (event, context) => {
  const { data, isOfMode } = await readData(event, context)
  const { account, refund: ofStripe } = data
  if (!isOfMode || !ofStripe) return 'ignored'
  const { [metadataName]: id, [tenantMetadataName]: tenant } = ofStripe.metadata
  const refund = await findRefund(context.table, tenant, id)
  if (!refund || refund.account !== account || !isAbout(refund, ofStripe)) return 'ignored'
  await context.requireNotBlocked(tenant)
  // Stripe never pays a failed refund, so a success that seems to follow a reversal is a contradiction of the clocks only.
  const { effects } = await settleRefund(refund, stripeReport(event, ofStripe), context)
  return Object.keys(effects).length > 0 ? effects : 'stale'
}

/**
 * Marks an account as lost, unless it was connected after the event. It makes no new refund before it is connected again.
 * A block of its tenant does not delay that.
 */
const accountLost: Handler = async (event, context) => {
  const { table, alert } = context
  const { data, isOfMode } = await readData(event, context)
  const { account } = data
  if (!isOfMode || account === undefined) return 'ignored'
  const tenant = await ownerOfAccount(table, account)
  if (tenant === undefined) return 'ignored'
  const [current, known] = await Promise.all([
    readCurrent(table, tenant),
    findAccount(table, tenant, account),
  ])
  if (!known) return 'ignored'
  const { occurred_at: lost_at } = event
  if (known.lost_at !== undefined || known.connected_at > lost_at) return 'stale'
  const isCurrent = current.account === account
  if (isCurrent) alert('PROVIDER_ACCOUNT_LOST', { tenant })
  const connected = isCurrent ? undefined : current.account
  return {
    writes: [
      { ...currentPut(tenant, current, connected), onFailure: 'TRANSIENT.error' },
      put({ ...accountKey(tenant, account), ...known, lost_at }),
    ],
    audit: {
      action: 'tenant.account_lost',
      target: 'tenant',
      tenant,
      actor: { sub: 'payment_provider', tenant, role: undefined },
      after: { account },
    },
  }
}

/** The handlers of Stripe's events by type. All other types are ignored. */
export const stripeHandlers: ReadonlyMap<string, Handler> = new Map([
  ['refund.created', refundReport],
  ['refund.updated', refundReport],
  ['refund.failed', refundReport],
  ['charge.refund.updated', refundReport],
  ['account.application.deauthorized', accountLost],
])

async function readData({ data: stored }: WebhookEvent, { paymentsKey }: HandlerContext) {
  const data = v.parse(StoredData, stored)
  const isOfMode = data.livemode === isLive(await paymentsKey())
  return { data, isOfMode }
}

/** Returns whether a key of Stripe's is one of live mode: `sk_live_…`, `rk_live_…`, `sk_org_live_…`. */
function isLive(key: string): boolean {
  return /^[a-z]+(_org)?_live_/.test(key)
}

function isAbout(refund: Refund, { id, charge, amount, metadata }: StripeRefund): boolean {
  const { charge_id, provider_refund_id = id, request_name } = refund
  const isItsPayout = provider_refund_id === id && metadata[requestMetadataName] === request_name
  return isItsPayout && charge_id === charge && refund.amount === amount
}

/**
 * Returns the report of an event: the status of its refund at that time. Stripe states the time in whole seconds. A failure
 * counts as the end of its second: it must not look older than the payout that it reverses. Any other status counts as the
 * start. So the order of the statuses within a second is that of Stripe, which pays no refund that has failed.
 */
function stripeReport(
  { occurred_at }: WebhookEvent,
  { id, status: ofStripe, currency }: StripeRefund,
): ProviderReport {
  const status = stripeStatuses.get(ofStripe) as ProviderReport['status']
  const at = status === 'failed' ? timestamp(Date.parse(occurred_at) + 999) : occurred_at
  return { status, at, provider_refund_id: id, currency: currency.toUpperCase() }
}
