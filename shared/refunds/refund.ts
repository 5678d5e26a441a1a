import * as v from 'valibot'
import { timeOf, timestamp } from '../platform/base/clock.ts'
import { fail } from '../platform/base/failure.ts'
import { defineResourceEvent, resourceEvent } from '../platform/events/event-definition.ts'
import type { OutgoingEvent } from '../platform/events/outbox.ts'
import { currencyCode, utc } from '../platform/formats/text.ts'
import { openPoint, perSettings, publishedAs } from '../settings/per-settings.ts'
import type { Settings } from '../settings/register.ts'
import type { ProviderRequest } from './payment-provider.ts'
import { type RefundStatus, refundStatuses } from './refund-states.ts'

/** The body of POST /v1/refunds. amount is in minor units of the charge's currency. */
export const RefundRequest = v.pipe(
  v.strictObject({
    charge_id: v.pipe(v.string(), v.minLength(1), v.maxLength(255), v.regex(/^[\x21-\x7e]+$/)),
    amount: v.pipe(v.number(), v.safeInteger(), v.minValue(1)),
  }),
  v.title('RefundRequest'),
)
export type RefundRequest = v.InferOutput<typeof RefundRequest>

/** A stored refund. */
export interface Refund {
  id: string
  tenant_id: string
  charge_id: string
  amount: number
  status: RefundStatus
  /** When the provider's outcome occurred; absent while it is pending, and after the provider rejected the request. */
  outcome_at?: string
  /** The provider's account with the charge. Recorded, so a changed setting cannot send an attempt to another account. */
  account: string
  /** As returned by the provider. */
  currency?: string
  provider_refund_id?: string
  created_at: string
  updated_at: string
  version: number
}

/** A refund in responses: its id, and the fields of the setting refunds.fields. */
export const RefundView = perSettings((settings) => {
  const fields = {
    id: v.string(),
    charge_id: v.string(),
    amount: v.pipe(v.number(), v.integer()),
    status: v.picklist(refundStatuses),
    created_at: utc,
    // As the provider returned it: a check here could only keep a payout from being recorded.
    currency: v.exactOptional(v.pipe(v.string(), publishedAs(currencyCode))),
  }
  const shown = shownFields(settings).map((field) => [field, fields[field]])
  return v.pipe(
    v.strictObject(Object.fromEntries(shown) as Record<string, v.GenericSchema>),
    openPoint('refunds.fields'),
    v.title('Refund'),
  )
})

export function viewOf(refund: Refund, settings: Settings): Record<string, unknown> {
  const shown = shownFields(settings).filter((field) => refund[field] !== undefined)
  return Object.fromEntries(shown.map((field) => [field, refund[field]]))
}

function shownFields(settings: Settings) {
  return [...new Set(['id' as const, ...settings['refunds.fields']])]
}

export function makeRefund(request: RefundRequest, of: Pick<Refund, 'id' | 'tenant_id' | 'account'>): Refund {
  const at = timestamp(timeOf(of.id))
  return { ...of, ...request, status: 'pending', created_at: at, updated_at: at, version: 1 }
}

/** Returns the request of a refund to the provider. */
export function requestOf({ id: refundId, account, charge_id: chargeId, amount }: Refund): ProviderRequest {
  return { account, chargeId, amount, refundId, requestedSince: timeOf(refundId) }
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

export const RefundSucceeded = defineResourceEvent({
  type: 'refund.succeeded',
  version: 1,
  summary: 'The payment provider paid a refund.',
  view: RefundView,
  carriers: ['refund'],
})

/** Returns the event of a refund that the provider completed. */
export function refundSucceeded(refund: Refund, settings: Settings): OutgoingEvent[] {
  return [resourceEvent(RefundSucceeded, refund, { viewOf, settings })]
}
