import fc from 'fast-check'
import type { WebhookEvent } from '#shared/webhooks/webhook-event.ts'

/** The resources of the events, separate for each run. */
export interface Subjects {
  tenant: string
  cart: string
  orders: string[]
  refunds: string[]
}

/** One event, independent of the resources of a run. */
export interface Telling {
  kind: string
  minute: number
  amount: number
  subject: 0 | 1
  source?: string
}

type Data = WebhookEvent['data']

/** The data of each kind of event. */
const kinds: Record<string, (telling: Telling, subjects: Subjects) => Data> = {
  'order.paid': ({ subject }, { orders }) => ({ id: String(orders[subject]) }),
  'refund.succeeded': ({ subject }, { refunds }) => ({ id: String(refunds[subject]) }),
  'cart.updated': ({ amount }, { cart, tenant }) => ({
    id: cart,
    tenant_id: tenant,
    amount_minor: amount,
    currency: 'EUR',
    ...(amount % 2 === 1 && { user_id: `user-${amount}` }),
  }),
  // States only that the cart changed, and optionally its owner.
  'cart.updated without amount': ({ subject }, { cart, tenant }) => ({
    id: cart,
    cart_id: cart,
    tenant_id: tenant,
    ...(subject === 1 && { user_id: 'ada' }),
  }),
  'giftcard.applied': ({ amount, subject }, { cart, tenant }) => ({
    id: `card-${amount}`,
    cart_id: cart,
    tenant_id: tenant,
    giftcard_id: `g${subject}`,
    amount,
  }),
  'tax.recalculated': (_, { cart, tenant }) => ({ id: cart, tenant_id: tenant }),
  'loyalty.earned': ({ amount }, { tenant }) => ({ id: `l${amount}`, tenant_id: tenant, points: amount }),
}

/** Events that cannot be handled. */
const poisons: Record<string, (subjects: Subjects) => [type: string, data: Data]> = {
  'no amount': ({ cart, tenant }) => ['cart.updated', { id: cart, tenant_id: tenant, currency: 'EUR' }],
  'an amount past all numbers': ({ cart, tenant }) => [
    'cart.updated',
    { id: cart, tenant_id: tenant, amount_minor: 1e300, currency: 'EUR' },
  ],
  'no tenant': ({ cart }) => ['tax.recalculated', { id: cart, tenant_id: 'no tenant#1' }],
  'no gift card': ({ cart, tenant }) => [
    'giftcard.applied',
    { id: cart, tenant_id: tenant, giftcard_id: [] },
  ],
  'no order': () => ['order.paid', { id: '01900000-0000-7000-8000-000000000000' }],
  'no refund': ({ tenant }) => ['refund.succeeded', { id: `not-one-of-${tenant}` }],
}

export const tellings: fc.Arbitrary<Telling[]> = fc.array(
  fc.record({
    kind: fc.constantFrom(...Object.keys(kinds), 'order.paid', 'refund.succeeded', ...Object.keys(poisons)),
    // Few, so that some of them happen in the same millisecond.
    minute: fc.integer({ min: 0, max: 5 }),
    amount: fc.integer({ min: 0, max: 9 }),
    subject: fc.constantFrom(0 as const, 1 as const),
  }),
  { minLength: 1, maxLength: 8 },
)

export function isPoison({ kind }: Telling): boolean {
  return Object.hasOwn(poisons, kind)
}

export function eventFor(telling: Telling, subjects: Subjects): WebhookEvent {
  const { kind, minute } = telling
  const [type, data] = poisons[kind]?.(subjects) ?? [
    kind.split(' ')[0] as string,
    kinds[kind]?.(telling, subjects) as Data,
  ]
  return { event_id: crypto.randomUUID(), type, occurred_at: `2026-01-01T00:0${minute}:00.000Z`, data }
}

/** Sorts events by their time, then by id. */
export function inOrder<Event extends Pick<WebhookEvent, 'occurred_at' | 'event_id'>>(
  events: readonly Event[],
): Event[] {
  const moment = ({ occurred_at, event_id }: Event) => `${occurred_at} ${event_id}`
  return events.toSorted((a, b) => (moment(a) < moment(b) ? -1 : 1))
}
