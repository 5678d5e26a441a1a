import { createHash } from 'node:crypto'
import * as v from 'valibot'
import { timeOf, timestamp } from '../platform/base/clock.ts'
import { defineResource, type ViewOf } from '../platform/base/resource.ts'
import { defineResourceEvent, resourceEvent } from '../platform/events/event-definition.ts'
import type { OutgoingEvent } from '../platform/events/outbox.ts'
import { currencyCode, utc, wholeNumber } from '../platform/formats/text.ts'
import type { Key } from '../platform/table/keys.ts'
import { describedAs, storedValue } from '../settings/per-settings.ts'
import type { Settings } from '../settings/register.ts'
import type { ProviderRequest } from './payment-provider.ts'
import { refundStatuses } from './refund-states.ts'

const amountUnit =
  'In the unit of the charge at the payment provider, Stripe: minor units of its currency. Stripe differs from ISO 4217: 500 is 5 ISK or 5 UGX, whose amounts end in 00, and 500 MGA. Amounts of currencies with three decimals, such as KWD, end in 0.'

/** A refund. */
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
      request: v.pipe(wholeNumber(1), v.description(amountUnit)),
      view: v.pipe(v.number(), v.integer(), v.description(amountUnit)),
    },
    status: storedValue(v.picklist(refundStatuses)),
    created_at: utc,
    // As the provider returned it: a check here could only keep a payout from being recorded.
    currency: v.exactOptional(v.pipe(v.string(), describedAs(currencyCode))),
  },
})

export type RefundView = ViewOf<typeof Refund>

/** A stored refund. */
export interface Refund extends RefundView {
  tenant_id: string
  /**
   * Orders the reports of an outcome: the time of the latest one that counted, or an earlier time if the service learned
   * the outcome by itself. Absent while it is pending, and after the provider rejected the request.
   */
  outcome_at?: string
  /** The provider's account with the charge. Recorded, so an attempt is made in it also after another one was connected. */
  account: string
  /** The name of the caller's request (`requestName`), the same for each refund of the request. */
  request_name: string
  /** Set before the payout is requested, if the caller has used its key for another request before. */
  uses_own_key?: boolean
  /** As returned by the provider. */
  provider_refund_id?: string
  /** The sort key of its entry among the refunds about which the provider must be asked, as long as it is one of them. */
  unsettled_entry?: string
  updated_at: string
  version: number
}

/** The body of POST /v1/refunds. */
export type RefundRequest = v.InferOutput<ReturnType<typeof Refund.request>>

export function makeRefund(
  request: RefundRequest,
  of: Pick<Refund, 'id' | 'tenant_id' | 'account' | 'request_name'>,
): Refund {
  const at = timestamp(timeOf(of.id))
  return { ...of, ...request, status: 'pending', created_at: at, updated_at: at, version: 1 }
}

/** The environment variable with the name of the deployment. It is the same in another region. */
export const deploymentVariable = 'DEPLOYMENT'

/**
 * Returns the name of a caller's request: a plain hash of what names its idempotency record and of the deployment, whose name
 * is the same in another region. Nothing that is lost or rotated changes it.
 */
export function requestName(deployment: string, recordKey: Key): string {
  return createHash('sha256')
    .update(JSON.stringify([deployment, recordKey.pk]))
    .digest('base64url')
}

/** Returns the request of a refund to the provider. */
export function requestOf(
  refund: Refund,
  settings: Pick<Settings, 'idempotency.lifetimeHours'>,
  { mayBeLost = false } = {},
): ProviderRequest {
  const { id: refundId, tenant_id: tenant, account, charge_id: chargeId, amount } = refund
  const { request_name: requestName, uses_own_key: usesOwnKey = false } = refund
  const { provider_refund_id: providerRefundId } = refund
  const requestedSince = timeOf(refundId)
  const earliestPayoutAt = requestedSince - settings['idempotency.lifetimeHours'] * 3_600_000
  const about = { account, chargeId, amount, providerRefundId, refundId, tenant, requestName, usesOwnKey }
  return { ...about, requestedSince, earliestPayoutAt, mayBeLost }
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
