import * as v from 'valibot'
import { timeOf, timestamp } from '../platform/base/clock.ts'
import { fail } from '../platform/base/failure.ts'
import { defineEvent, event, subjectOnly } from '../platform/events/event-definition.ts'
import type { OutgoingEvent } from '../platform/events/outbox.ts'
import { utc } from '../platform/formats/text.ts'
import { openPoint, perSettings } from '../settings/per-settings.ts'
import type { Settings } from '../settings/register.ts'

/** The body of POST /v1/refunds. amount is in minor units of the charge's currency. */
export const NewRefund = v.pipe(
  v.strictObject({
    charge_id: v.pipe(v.string(), v.minLength(1), v.maxLength(255), v.regex(/^[\x21-\x7e]+$/)),
    amount: v.pipe(v.number(), v.safeInteger(), v.minValue(1)),
  }),
  v.title('NewRefund'),
)
export type NewRefund = v.InferOutput<typeof NewRefund>

/** A stored refund. */
export interface Refund {
  id: string
  tenant_id: string
  charge_id: string
  amount: number
  /** Pending until the provider has returned a final outcome. */
  status: 'pending' | 'succeeded' | 'failed'
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
    status: v.picklist(['pending', 'succeeded', 'failed']),
    created_at: utc,
  }
  const shown = shownFields(settings).map((field) => [field, fields[field]])
  return v.pipe(
    v.strictObject(Object.fromEntries(shown) as Record<string, v.GenericSchema>),
    openPoint('refunds.fields'),
    v.title('Refund'),
  )
})

export function viewOf(refund: Refund, settings: Settings): Record<string, unknown> {
  return Object.fromEntries(shownFields(settings).map((field) => [field, refund[field]]))
}

function shownFields(settings: Settings) {
  return [...new Set(['id' as const, ...settings['refunds.fields']])]
}

export function makeRefund(request: NewRefund, id: string, tenant: string): Refund {
  const at = timestamp(timeOf(id))
  return { id, tenant_id: tenant, ...request, status: 'pending', created_at: at, updated_at: at, version: 1 }
}

/** Applies an outcome to a refund. */
export function settle(refund: Refund, outcome: Partial<Refund>, now: number): Refund {
  return { ...refund, ...outcome, updated_at: timestamp(now), version: refund.version + 1 }
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

export const RefundSucceeded = defineEvent({
  type: 'refund.succeeded',
  version: 1,
  summary: 'The payment provider paid a refund.',
  data: subjectOnly,
})

/** Returns the event of a refund that the provider completed. */
export function refundSucceeded({ id, tenant_id }: Refund): OutgoingEvent[] {
  return [event(RefundSucceeded, { id, tenant_id })]
}
