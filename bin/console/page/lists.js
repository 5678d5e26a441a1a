// The tabs and their lists. A column is a heading, a function that returns text or elements, and a class.

import { deliveryState, nextAttempt, resultOf, subscriberState } from './deliveries.js'
import {
  badge,
  button,
  code,
  commandsOf,
  cut,
  element,
  folded,
  opener,
  progress,
  statusOf,
  time,
} from './elements.js'
import { correlationOf, find, tenantOf } from './entries.js'
import { addressOf } from './filters.js'
import { entryLink, money, moneyStatus } from './money.js'
import { about, act } from './reading.js'

const tenant = ['Tenant', (entry) => tenantOf(entry) ?? '', 'minor']
const correlation = [
  'Correlation id',
  (entry) => {
    const id = correlationOf(entry)
    return id
      ? element('button', { type: 'button', class: 'link', 'data-correlation': id, title: id }, id)
      : ''
  },
  'minor',
]
const range = ['from', 'to']
const filters = ['tenant', 'status', 'correlation', ...range]

export const tabs = [
  {
    name: 'Requests',
    lists: [
      {
        kind: 'request',
        filters: [...filters, 'path', 'code'],
        empty: 'No request yet. Send one with the lines that npm start printed, or from the Reference.',
        statuses: ({ status }) => [`${String(status)[0]}xx`, String(status)],
        states: ['2xx', '3xx', '4xx', '5xx'],
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
        filters: ['tenant', 'correlation', ...range],
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
        filters: [...filters, 'target'],
        targetLabel: 'Subscriber',
        target: ({ subscriber_id: id }) => [id, find('subscriber', id)?.url],
        empty: 'No event was sent to a subscriber yet. npx commerce subscribers create registers one.',
        ofAll: 'Without a tenant: the failed deliveries of all tenants.',
        statuses: ({ state, attempts }) => [
          state,
          ...(attempts.some(({ reason }) => reason) ? ['failed-attempt'] : []),
        ],
        states: ['failed', 'failed-attempt', 'suspended', 'skipped', 'succeeded', 'waiting'],
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
          ['URL', ({ url }) => opener(url), 'main'],
          ['Events', ({ events }) => events.join(', ')],
          ['State', subscriberState],
          [
            'Deliveries',
            ({ id }) =>
              element('a', { href: addressOf({ tab: 'deliveries', target: id, entry: '' }) }, 'show'),
          ],
          tenant,
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
        filters: ['correlation', ...range],
        empty: 'No mail was sent yet. POST /otp/request sends a one-time code.',
        columns: [
          ['Time', ({ at }) => time(at)],
          ['To', ({ to }) => opener(to), 'line'],
          ['Subject', ({ subject }) => subject, 'line'],
          ['Text', ({ text }) => element('span', { class: 'text' }, text), 'wide'],
          correlation,
        ],
      },
    ],
  },
  {
    name: 'Money',
    lists: [
      {
        kind: 'refund',
        title: 'Refunds',
        filters: [...filters, 'target'],
        targetLabel: 'Charge',
        target: ({ charge_id, charge }) => [charge_id ?? charge],
        empty:
          'No refund was requested yet. POST /v1/refunds with any charge_id that starts with ch_ makes one.',
        ofAll: 'Without a tenant: the refunds of all tenants that are pending, however old.',
        allTimes: true,
        statuses: ({ status }) => [status],
        states: ['failed', 'pending', 'reversed', 'succeeded'],
        columns: [
          ['Time', ({ at }) => time(at)],
          ['Refund', ({ id }) => opener(id), 'line'],
          ['Charge', ({ charge_id }) => charge_id, 'line'],
          ['Amount', money, 'number'],
          ['Status', ({ status }) => moneyStatus(status)],
          ['Provider’s refund', ({ provider_refund_id: id }) => entryLink('payout', id)],
          tenant,
          correlation,
        ],
      },
      {
        kind: 'payout',
        title: 'At the payment provider',
        filters: ['tenant', 'status', 'target', ...range],
        target: ({ charge }) => [charge],
        statuses: ({ status }) => [status],
        empty: 'The provider has accepted no refund yet.',
        columns: [
          ['Time', ({ at }) => time(at)],
          ['Provider’s refund', ({ id }) => opener(id), 'line'],
          ['Charge', ({ charge }) => charge, 'line'],
          ['Amount', money, 'number'],
          ['Status', ({ status }) => moneyStatus(status)],
          ['Our refund', ({ refund_id }) => entryLink('refund', refund_id)],
          ['Account', ({ account }) => account, 'minor'],
          tenant,
        ],
        count: () => 0,
      },
      {
        kind: 'ledger',
        title: 'Ledger of the service',
        filters: ['tenant', 'target', ...range],
        target: ({ charge_id }) => [charge_id],
        empty: 'The ledger is empty.',
        columns: [
          ['Time', ({ at }) => time(at)],
          ['Booking', ({ booking }) => opener(moneyStatus(booking)), 'line'],
          ['Charge', ({ charge_id }) => charge_id, 'line'],
          ['Amount', money, 'number'],
          ['Refund', ({ refund_id }) => entryLink('refund', refund_id)],
          ['Provider’s refund', ({ provider_refund_id: id }) => entryLink('payout', id)],
          tenant,
        ],
        count: () => 0,
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
        ofAll: 'Without a tenant: the failed operations of all tenants.',
        statuses: ({ state }) => [state],
        states: ['canceled', 'failed', 'pending', 'running', 'succeeded'],
        columns: [
          ['Changed', ({ updated_at }) => time(updated_at)],
          ['Operation', ({ id }) => opener(id), 'line'],
          ['Progress', progress],
          ['State', ({ state, outcome }) => [state, outcome].filter(Boolean).join(': ')],
          ['Rows', ({ counts }) => (counts ? `${counts.succeeded} imported, ${counts.failed} rejected` : '')],
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
        inOrder: true,
        columns: [
          ['Queue', ({ id }) => element('b', {}, id)],
          ['Waiting', ({ waiting }) => String(waiting ?? ''), 'number labeled'],
          ['In progress', ({ in_progress }) => String(in_progress ?? ''), 'number labeled'],
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
        filters: [...filters, 'actor', 'action', 'target'],
        target: ({ target }) => [target],
        empty: 'No audit record yet. Refunds, changes of codes and all denials leave one.',
        statuses: ({ result }) => [result],
        states: ['allow', 'deny'],
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
  {
    name: 'Found',
    lists: [
      {
        kind: 'found',
        asks: ['tenant', ...range],
        empty: 'Nothing was found.',
        inOrder: true,
        columns: [
          ['Time', ({ at }) => time(at)],
          ['Kind', ({ what }) => badge(what.replace('_', ' '))],
          ['What', ({ summary }) => opener(summary), 'main'],
          tenant,
          correlation,
        ],
      },
    ],
  },
]

/** Shows the latest dead letters of a queue with their reasons, and how all of them return to the queue. */
function deadLetters({ id, dead_letters: letters, commands }) {
  if (letters.length === 0) return 'no dead letters'
  const redrive = button('Redrive', async () => {
    redrive.disabled = true
    redrive.textContent = 'Redriving …'
    redrive.textContent = (await act('redrive', id)) ?? 'Redriven'
  })
  const shown = letters.slice(-10).toReversed()
  const items = shown.map(({ at, body, reason, attempts, ...letter }) =>
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
      body === undefined ? code(letter.id) : code(cut(body, 300)),
      folded('Commands', ...commandsOf(letter)),
    ),
  )
  const older = letters.length - shown.length
  return [
    element(
      'p',
      {},
      badge(String(letters.length), 'bad'),
      ' ',
      about.actions.includes('redrive') ? redrive : '',
    ),
    folded('Command for all', ...commandsOf({ commands })),
    element('ol', {}, items),
    older > 0 ? element('p', { class: 'hint' }, `${older} older ones are not shown.`) : '',
  ]
}
