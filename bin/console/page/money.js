// Amounts, refunds and their history.

import { inUnits } from './amounts.js'
import { badge, element } from './elements.js'

/** Returns an amount of minor units in units of its currency. */
export function money({ amount, currency }) {
  return amount === undefined || amount === null ? '' : inUnits(amount, currency)
}

const classes = {
  succeeded: 'good',
  paid: 'good',
  pending: 'fair',
  failed: 'bad',
  reversed: 'bad',
  payout: 'good',
}

/** Returns the status of a refund, a payout or a booking. */
export function moneyStatus(status) {
  return badge(status, classes[status] ?? 'bad')
}

/** Returns what the status of a refund means. */
export function meaningOf({ status, provider_refund_id: payout }) {
  const meanings = {
    pending: payout ? 'accepted by the provider, not settled yet' : 'the provider has not answered yet',
    succeeded: 'paid',
    failed: payout ? 'the provider accepted it and did not pay' : 'refused: there is no payout',
    reversed: 'paid, and taken back by the provider',
  }
  return meanings[status] ?? ''
}

/** Returns a button that shows another entry. */
export function entryLink(kind, id) {
  return id
    ? element('button', { type: 'button', class: 'link', 'data-kind': kind, 'data-id': id, title: id }, id)
    : ''
}
