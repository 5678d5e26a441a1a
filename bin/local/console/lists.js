// The tabs and their lists. A column is a heading, a function that returns text or elements, and a class.

import { deliveryState, nextAttempt, resultOf, subscriberState } from './deliveries.js'
import {
  act,
  badge,
  button,
  code,
  cut,
  element,
  money,
  opener,
  progress,
  statusOf,
  time,
} from './elements.js'
import { find, tenantOf } from './entries.js'

const tenant = ['Tenant', (entry) => tenantOf(entry) ?? '', 'minor']
const correlation = [
  'Correlation id',
  ({ correlation_id: id }) =>
    id ? element('button', { type: 'button', class: 'link', 'data-correlation': id, title: id }, id) : '',
  'minor',
]
const filters = ['tenant', 'status', 'correlation']

export const tabs = [
  {
    name: 'Requests',
    lists: [
      {
        kind: 'request',
        filters,
        empty: 'No request yet. Send one with the lines that npm start printed, or from the Reference.',
        statuses: ({ status }) => [`${String(status)[0]}xx`, String(status)],
        columns: [
          ['Time', ({ at }) => time(at)],
          ['Request', ({ method, path }) => opener(element('b', {}, method), ' ', cut(path)), 'main'],
          ['Status', statusOf, 'line'],
          ['Duration', ({ milliseconds }) => `${milliseconds} ms`, 'number minor'],
          ['Error', ({ error_code }) => error_code ?? '', 'line'],
          tenant,
          correlation,
        ],
      },
    ],
  },
  {
    name: 'Events',
    lists: [
      {
        kind: 'event',
        filters: ['tenant', 'correlation'],
        empty: 'No event was published yet.',
        columns: [
          ['Time', ({ occurred_at }) => time(occurred_at)],
          ['Type', ({ type, version }) => opener(element('b', {}, type), ` v${version}`), 'line'],
          ['Data', ({ data }) => code(cut(JSON.stringify(data))), 'main'],
          tenant,
          correlation,
        ],
      },
    ],
  },
  {
    name: 'Deliveries',
    lists: [
      {
        kind: 'delivery',
        filters,
        empty: 'No event was sent to a subscriber yet. npx commerce subscribers create registers one.',
        statuses: ({ state }) => [state],
        columns: [
          ['Time', ({ at }) => time(at)],
          ['Event', ({ type }) => opener(element('b', {}, type)), 'line'],
          ['Subscriber', ({ subscriber_id: id }) => find('subscriber', id)?.url ?? id, 'main'],
          ['State', deliveryState],
          ['Attempts', ({ attempted }) => String(attempted), 'number labeled minor'],
          ['Latest', ({ attempts }) => attempts.slice(-1).map(resultOf), 'line'],
          ['Next', (delivery) => nextAttempt(delivery) ?? '', 'labeled minor'],
          tenant,
          correlation,
        ],
      },
      {
        kind: 'subscriber',
        title: 'Subscribers',
        filters: ['tenant'],
        empty: 'No subscriber is registered.',
        columns: [
          ['URL', ({ url }) => url, 'main'],
          ['Events', ({ events }) => events.join(', ')],
          ['State', subscriberState],
          ['Tenant', tenantOf],
        ],
        count: () => 0,
      },
    ],
  },
  {
    name: 'Mail',
    lists: [
      {
        kind: 'mail',
        empty: 'No mail was sent yet. POST /otp/request sends a one-time code.',
        columns: [
          ['Time', ({ at }) => time(at)],
          ['To', ({ to }) => to],
          ['Subject', ({ subject }) => subject],
          ['Text', ({ text }) => element('span', { class: 'text' }, text)],
        ],
      },
    ],
  },
  {
    name: 'Money',
    lists: [
      {
        kind: 'payout',
        title: 'Paid at the payment provider',
        empty: 'No refund was paid yet. POST /v1/refunds with any charge_id that starts with ch_ pays one.',
        columns: [
          ['Time', ({ at }) => time(at)],
          ['Refund', ({ id }) => id],
          ['Account', ({ account }) => account],
          ['Charge', ({ charge }) => charge],
          ['Amount', money, 'number'],
          ['Status', ({ status }) => status],
        ],
      },
      {
        kind: 'ledger',
        title: 'Ledger of the service',
        empty: 'The ledger is empty.',
        columns: [
          ['Time', ({ at }) => time(at)],
          ['Refund', ({ refund_id }) => refund_id],
          ['Booking', ({ booking }) => booking],
          ['Tenant', tenantOf],
          ['Charge', ({ charge_id }) => charge_id],
          ['Amount', money, 'number'],
        ],
      },
    ],
  },
  {
    name: 'Operations',
    lists: [
      {
        kind: 'operation',
        filters,
        empty: 'No operation yet. POST /imports starts one.',
        statuses: ({ state }) => [state],
        columns: [
          ['Changed', ({ updated_at }) => time(updated_at)],
          ['Operation', ({ id }) => opener(id), 'line'],
          ['Progress', progress],
          ['State', ({ state, outcome }) => [state, outcome].filter(Boolean).join(': ')],
          ['Rows', ({ counts }) => `${counts.succeeded} imported, ${counts.failed} rejected`],
          ['Reason', ({ reason }) => (reason ? badge(reason, 'bad reason') : '')],
          tenant,
          correlation,
        ],
      },
    ],
  },
  {
    name: 'Queues',
    lists: [
      {
        kind: 'queue',
        empty: 'The queues were not read yet.',
        oldestFirst: true,
        columns: [
          ['Queue', ({ id }) => element('b', {}, id)],
          ['Waiting', ({ waiting }) => String(waiting), 'number labeled'],
          ['In progress', ({ in_progress }) => String(in_progress), 'number labeled'],
          ['Dead letters', deadLetters, 'wide'],
        ],
        count: (entries) => entries.reduce((total, { dead_letters }) => total + dead_letters.length, 0),
      },
    ],
  },
  {
    name: 'Audit',
    lists: [
      {
        kind: 'audit',
        filters,
        empty: 'No audit record yet. Refunds, changes of codes and all denials leave one.',
        statuses: ({ result }) => [result],
        columns: [
          ['Time', ({ at }) => time(at)],
          ['Action', ({ action }) => opener(element('b', {}, action)), 'line'],
          ['Target', ({ target }) => target ?? '', 'main'],
          ['Actor', ({ actor_id, role }) => `${actor_id} (${role})`, 'line minor'],
          [
            'Result',
            ({ result, reason }) => badge(`${result}: ${reason}`, result === 'allow' ? 'good' : 'bad'),
            'line',
          ],
          tenant,
          correlation,
        ],
      },
    ],
  },
]

/** Shows the latest dead letters of a queue with their reasons, and a button that returns all to the queue. */
function deadLetters({ id, dead_letters: letters }) {
  if (letters.length === 0) return 'no dead letters'
  const redrive = button('Redrive', async () => {
    redrive.disabled = true
    redrive.textContent = 'Redriving …'
    redrive.textContent = (await act('redrive', id)) ?? 'Redriven'
  })
  const shown = letters.slice(-10).toReversed()
  const items = shown.map(({ at, body, reason, attempts }) =>
    element(
      'li',
      {},
      element(
        'p',
        {},
        `${time(at)} `,
        element('strong', {}, reason ?? 'its reason is no longer in the log'),
        attempts ? ` after ${attempts} attempts` : '',
      ),
      code(cut(body, 300)),
    ),
  )
  const older = letters.length - shown.length
  return [
    element('p', {}, badge(String(letters.length), 'bad'), ' ', redrive),
    element('ol', {}, items),
    older > 0 ? element('p', { class: 'hint' }, `${older} older ones are not shown.`) : '',
  ]
}
