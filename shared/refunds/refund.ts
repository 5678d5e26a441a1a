import * as v from 'valibot'
import { timeOf, timestamp } from '../platform/base/clock.ts'
import { fail } from '../platform/base/failure.ts'
import { defineResource, type ViewOf } from '../platform/base/resource.ts'
import { defineResourceEvent, resourceEvent } from '../platform/events/event-definition.ts'
import type { OutgoingEvent } from '../platform/events/outbox.ts'
import { currencyCode, utc } from '../platform/formats/text.ts'
import { describedAs } from '../settings/per-settings.ts'
import type { Settings } from '../settings/register.ts'
import { tenantNamePattern } from '../settings/tenant-name.ts'
import type { ProviderRequest } from './payment-provider.ts'
import { refundStatuses } from './refund-states.ts'

/** A refund. amount is in minor units of the charge's currency. */
export const Refund = defineResource({
  title: 'Refund',
  setting: 'refunds.fields',
  shows(name, settings) {
    const shown = settings['refunds.fields']
    return name === 'id' || shown === 'all' || shown.includes(name)
  },
  fields: {
    id: v.string(),
    charge_id: {
      request: v.pipe(v.string(), v.minLength(1), v.maxLength(255), v.regex(/^[\x21-\x7e]+$/)),
      view: v.string(),
    },
    amount: {
      request: v.pipe(v.number(), v.safeInteger(), v.minValue(1)),
      view: v.pipe(v.number(), v.integer()),
    },
    status: v.picklist(refundStatuses),
    created_at: utc,
    // As the provider returned it: a check here could only keep a payout from being recorded.
    currency: v.exactOptional(v.pipe(v.string(), describedAs(currencyCode))),
  },
})

export type RefundView = ViewOf<typeof Refund>

/** A stored refund. */
export interface Refund extends RefundView {
  tenant_id: string
  /** When the provider's outcome occurred; absent while it is pending, and after the provider rejected the request. */
  outcome_at?: string
  /** The provider's account with the charge. Recorded, so a changed setting cannot send an attempt to another account. */
  account: string
  /** As returned by the provider. */
  provider_refund_id?: string
  /** The sort key of its entry among the refunds about which the provider must be asked, as long as it is one of them. */
  open_entry?: string
  updated_at: string
  version: number
}

/** The body of POST /v1/refunds. */
export type RefundRequest = v.InferOutput<ReturnType<typeof Refund.request>>

export function makeRefund(request: RefundRequest, of: Pick<Refund, 'id' | 'tenant_id' | 'account'>): Refund {
  const at = timestamp(timeOf(of.id))
  return { ...of, ...request, status: 'pending', created_at: at, updated_at: at, version: 1 }
}

/** Returns the request of a refund to the provider. */
export function requestOf(refund: Refund): ProviderRequest {
  const { id: refundId, tenant_id: tenant, account, charge_id: chargeId, amount } = refund
  return { account, chargeId, amount, refundId, tenant, requestedSince: timeOf(refundId) }
}

/**
 * Returns the provider's account of a tenant's charges, so no tenant can reach another's.
 * @throws POLICY.refund.no_account if the settings define none
 */
export function accountOf(tenant: string, settings: Settings): string {
  const { accounts, prefix } = settings['refunds.account']
  if (Object.hasOwn(accounts, tenant)) return accounts[tenant] as string
  if (prefix === undefined) throw fail('POLICY.refund.no_account')
  return `${prefix}${tenant}`
}

/** Returns the tenant of one of the provider's accounts; undefined if the settings define none. */
export function tenantOfAccount(account: string, settings: Settings): string | undefined {
  const { accounts, prefix } = settings['refunds.account']
  const named = Object.keys(accounts).find((tenant) => accounts[tenant] === account)
  if (named !== undefined || prefix === undefined || !account.startsWith(prefix)) return named
  const tenant = account.slice(prefix.length)
  // A named account takes precedence over the prefix.
  const isOwn = tenantNamePattern(settings).test(tenant) && !Object.hasOwn(accounts, tenant)
  return isOwn ? tenant : undefined
}

export const RefundSucceeded = defineResourceEvent({
  type: 'refund.succeeded',
  version: 1,
  summary: 'The payment provider paid a refund.',
  resource: Refund,
  carriers: ['refund'],
})

/** Returns the event of a refund that the provider completed. */
export function refundSucceeded(refund: Refund, settings: Settings): OutgoingEvent[] {
  return [resourceEvent(RefundSucceeded, refund, settings)]
}
