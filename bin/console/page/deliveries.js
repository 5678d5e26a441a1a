// Deliveries of events to subscribers, with their attempts.

import { badge, block, button, commandsOf, element, folded, time } from './elements.js'
import { find } from './entries.js'
import { about, act } from './reading.js'

const reasons = {
  timeout: 'it did not answer in time',
  status: 'it answered with an error',
  redirect: 'it redirected, which is not followed',
  gone: 'it answered 410, so it was disabled',
  address: 'its address is not allowed',
  connection: 'there was no connection',
  no_slot: 'it was slow while other slow calls of its tenant were made',
  expired: 'it waited for longer than deliveries are kept',
}
const classes = { succeeded: 'good', failed: 'bad', suspended: 'fair' }

export function deliveryState({ state }) {
  return badge(state, classes[state])
}

export function subscriberState({ state, reason }) {
  return badge(
    reason && state === 'disabled' ? `${state}: ${reason}` : state,
    state === 'active' ? 'good' : 'fair',
  )
}

/** Returns the result of an attempt in a few words. */
export function resultOf({ status, reason, milliseconds }) {
  return `${[status, reason === 'status' ? '' : reason].filter(Boolean).join(' ')}, ${milliseconds} ms`
}

export function nextAttempt({ next_at }) {
  return next_at && time(next_at)
}

export function factsOfDelivery(delivery) {
  const { state, attempts, attempted, subscriber_id, event_id } = delivery
  const subscriber = find('subscriber', subscriber_id)
  const { reason } = attempts.at(-1) ?? {}
  return [
    ['State', deliveryState({ state })],
    ['Reason', reason && badge(reasons[reason] ?? reason, 'bad reason')],
    ['Attempts', String(attempted)],
    ['Next attempt', nextAttempt(delivery)],
    ['Subscriber', subscriber ? [subscriber.url, ' ', subscriberState(subscriber)] : subscriber_id],
    ['Event id', event_id],
  ]
}

/** Shows the attempts, the latest first, the body, and a button that sends it again. */
export function contentOfDelivery({ tenant, id, attempts, body, commands }) {
  const resend = button('Resend', async () => {
    resend.disabled = true
    const problem = await act('resend', JSON.stringify({ tenant, id }))
    resend.disabled = false
    resend.textContent = problem ?? 'Resent'
  })
  const rows = attempts
    .toReversed()
    .map(({ at, answer, ...result }) =>
      element(
        'li',
        {},
        element('p', {}, `${time(at)} ${resultOf(result)}`),
        answer ? block(answer) : element('p', { class: 'hint' }, 'no answer'),
      ),
    )
  return [
    about.actions.includes('resend') ? resend : '',
    element('ol', { class: 'attempts' }, rows),
    body === undefined ? '' : folded('Body', block(body)),
    ...commandsOf({ commands }),
  ]
}
