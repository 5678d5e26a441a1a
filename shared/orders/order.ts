import * as v from 'valibot'
import { timestamp } from '../platform/base/clock.ts'
import { timeOf } from '../platform/base/ids.ts'
import { openPoint, perSettings } from '../platform/base/settings.ts'
import { utc } from '../platform/formats/text.ts'
import type { Settings } from '../settings/register.ts'

/** The body of POST /v1/orders. amount_minor is in minor units of the currency. */
export const NewOrder = perSettings((settings) => {
  const { cartIdMaxLength, amountMinorMin, amountMinorMax } = settings['orders.limits']
  return v.strictObject({
    cart_id: v.pipe(
      v.string(),
      v.minLength(1),
      v.maxLength(cartIdMaxLength),
      v.regex(/^[\x21-\x7e]+$/),
      openPoint('orders.limits'),
    ),
    amount_minor: v.pipe(
      v.number(),
      v.safeInteger(),
      v.minValue(amountMinorMin),
      v.maxValue(amountMinorMax),
      openPoint('orders.limits'),
    ),
    currency: v.pipe(v.picklist(settings['orders.currencies']), openPoint('orders.currencies')),
  })
})
export type NewOrder = v.InferOutput<ReturnType<typeof NewOrder>>

/** A stored order. */
export interface Order {
  id: string
  tenant_id: string
  cart_id: string
  amount_minor: number
  currency: string
  status: string
  created_at: string
  updated_at: string
  /** Incremented by each change; entity tags and conditional writes use it. */
  version: number
}

/** An order in responses, with the fields of the setting orders.fields. */
export const OrderView = perSettings((settings) => {
  const fields = {
    id: v.string(),
    tenant_id: v.string(),
    cart_id: v.string(),
    amount_minor: v.pipe(v.number(), v.integer()),
    currency: v.string(),
    status: v.pipe(v.picklist(settings['orders.statuses'].all), openPoint('orders.statuses')),
    created_at: utc,
    updated_at: utc,
  }
  const shown = settings['orders.fields'].map((field) => [field, fields[field]])
  return v.pipe(
    v.strictObject(Object.fromEntries(shown) as Record<string, v.GenericSchema>),
    openPoint('orders.fields'),
  )
})

export function viewOf(order: Order, settings: Settings): Record<string, unknown> {
  return Object.fromEntries(settings['orders.fields'].map((field) => [field, order[field]]))
}

/** Creates an order in its first status. created_at is the time in its id. */
export function placeOrder(request: NewOrder, id: string, tenant: string, settings: Settings): Order {
  const at = timestamp(timeOf(id))
  return {
    id,
    tenant_id: tenant,
    ...request,
    status: settings['orders.statuses'].first,
    created_at: at,
    updated_at: at,
    version: 1,
  }
}
