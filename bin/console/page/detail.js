// The detail of an entry, with everything that has its correlation id.

import { contentOfDelivery, deliveryState, factsOfDelivery, resultOf, subscriberState } from './deliveries.js'
import {
  badge,
  block,
  button,
  code,
  commandsOf,
  cut,
  element,
  facts,
  folded,
  progress,
  replace,
  statusOf,
  time,
} from './elements.js'
import { correlationOf, find, keysAround, keysOf, related, tenantOf } from './entries.js'
import { addressOf, change, selected } from './filters.js'
import { entryLink, meaningOf, money, moneyStatus } from './money.js'

export const detail = element('aside', { id: 'detail', tabindex: '-1', 'aria-labelledby': 'detail-title' })
detail.hidden = true

/** How the entry itself is shown, by its kind. */
const descriptions = {
  request: ({
    method,
    path,
    milliseconds,
    idempotency_status,
    error_code,
    request,
    response,
    fields,
    ...entry
  }) => ({
    title: [element('b', {}, method), ` ${path.split('?')[0]}`],
    facts: [
      ['Status', statusOf(entry)],
      ['Error', error_code],
      ['Time', time(entry.at)],
      ['Duration', `${milliseconds} ms`],
      ['Idempotency', idempotency_status],
      ['Idempotency-Key', request?.headers['idempotency-key']],
    ],
    content: [
      ...queryOf(path),
      ...(request ? message('Request', request) : []),
      ...(response ? message('Response', response) : []),
      ...(fields ? [element('h3', {}, 'Log line'), block(fields)] : []),
    ],
  }),
  event: ({ type, version, id, occurred_at, data }) => ({
    title: [element('b', {}, type), ` v${version}`],
    facts: [
      ['Event id', id],
      ['Time', time(occurred_at)],
    ],
    content: [block(data)],
  }),
  operation: ({ id, state, outcome, reason, counts, rejects = [], ...entry }) => ({
    title: [`Operation ${id}`],
    facts: [
      ['State', [[state, outcome].filter(Boolean).join(': '), ' ', progress({ state, ...entry })]],
      ['Reason', reason && badge(reason, 'bad reason')],
      ['Changed', time(entry.updated_at)],
      ['Rows', counts && `${counts.succeeded} imported, ${counts.failed} rejected`],
    ],
    content: [
      ...(rejects.length > 0 ? [element('h3', {}, rejectedRows(rejects.length, counts))] : []),
      facts(rejects.map(({ row, code, field }) => [`Row ${row}`, [code, field].filter(Boolean).join(': ')])),
    ],
  }),
  delivery: (entry) => ({
    title: [
      element('b', {}, entry.type),
      ' to ',
      find('subscriber', entry.subscriber_id)?.url ?? 'a subscriber',
    ],
    facts: factsOfDelivery(entry),
    content: contentOfDelivery(entry),
  }),
  subscriber: ({ url, events, id, commands, ...entry }) => ({
    title: ['Subscriber ', url],
    facts: [
      ['State', subscriberState(entry)],
      ['Events', events.join(', ')],
      ['Id', id],
    ],
    content: commandsOf({ commands }),
  }),
  mail: ({ to, subject, text, at, state }) => ({
    title: ['Mail to ', to],
    facts: [
      ['Subject', subject],
      ['Time', time(at)],
      ['State', state],
    ],
    content: [block(text)],
  }),
  refund: (refund) => ({
    title: ['Refund ', refund.id],
    facts: [
      ['Status', [moneyStatus(refund.status), ' ', meaningOf(refund)]],
      ['Amount', money(refund)],
      ['Charge', refund.charge_id],
      ['Account', refund.account],
      ['Provider’s refund', entryLink('payout', refund.provider_refund_id)],
      ['Requested', time(refund.at)],
    ],
    content: [...commandsOf(refund), ...historyOf(refund)],
  }),
  payout: (payout) => ({
    title: ['Provider’s refund ', payout.id],
    facts: [
      ['Status', moneyStatus(payout.status)],
      ['Amount', money(payout)],
      ['Charge', payout.charge],
      ['Account', payout.account],
      ['Our refund', entryLink('refund', payout.refund_id)],
      ['Created', time(payout.at)],
    ],
    content: historyOf(payout),
  }),
  ledger: (booking) => ({
    title: ['Booking ', booking.id],
    facts: [
      ['Booking', moneyStatus(booking.booking)],
      ['Amount', money(booking)],
      ['Charge', booking.charge_id],
      ['Account', booking.account],
      ['Refund', entryLink('refund', booking.refund_id)],
      ['Provider’s refund', entryLink('payout', booking.provider_refund_id)],
      ['Time', time(booking.at)],
    ],
    content: historyOf(booking),
  }),
  audit: ({ kind: _, action, result, reason, at, commands, ...record }) => ({
    title: [element('b', {}, action)],
    facts: [
      ['Result', badge(`${result}: ${reason}`, result === 'allow' ? 'good' : 'bad')],
      ['Time', time(at)],
    ],
    content: [block(record), ...commandsOf({ commands })],
  }),
  found: ({ what, summary, at, found_id, data, commands }) => ({
    title: [element('b', {}, what.replace('_', ' ')), ' ', summary],
    facts: [
      ['Id', found_id],
      ['Time', time(at)],
    ],
    content: [block(data), ...commandsOf({ commands })],
  }),
}

/** Shows what happened to a refund, step by step, from everything that is known about it. */
function historyOf(entry) {
  const keys = new Set([...keysAround(entry)].filter((key) => !key.startsWith('correlation ')))
  const of = (kind) => related(kind, keys)
  const steps = [
    ...of('request').map(({ at, method, path, status, error_code }) => [
      at,
      `${/webhooks/.test(path) ? 'report of the provider' : 'request'}: ${method} ${path.split('?')[0]} ${status} ${error_code ?? ''}`,
    ]),
    ...of('refund').map(({ at, ...refund }) => [at, `refund requested: ${money(refund)}`]),
    ...of('payout').map(({ at, id, status }) => [at, `provider: ${id}, now ${status}`]),
    ...of('refund').map(({ updated_at, status, ...refund }) => [
      status === 'pending' ? undefined : updated_at,
      `outcome: ${status}, ${meaningOf({ ...refund, status })}`,
    ]),
    ...of('ledger').map((booking) => [booking.at, `ledger: ${booking.booking} of ${money(booking)}`]),
    ...of('event').map(({ occurred_at, type }) => [occurred_at, `event: ${type}`]),
    ...of('audit').map(({ at, action, result, actor_id }) => [
      at,
      `audit: ${action} by ${actor_id}, ${result}`,
    ]),
  ]
    .filter(([at]) => at)
    .map(([at, text]) => [typeof at === 'number' ? at : Date.parse(at), text])
    .sort(([one], [other]) => one - other)
  const items = steps.map(([at, text]) => element('li', {}, element('p', {}, `${time(at)} ${text}`)))
  return [element('h3', {}, 'History'), element('ol', { class: 'history' }, items)]
}

/** What belongs to a correlation id: a title, the kind, the line of an entry, and its content on request. */
const parts = [
  [
    'Requests',
    'request',
    ({ at, method, path, ...rest }) => [`${time(at)} ${method} ${path} `, ...statusOf(rest)],
    ({ request, response }) => [
      ...(request ? message('Request', request) : []),
      ...(response ? message('Response', response) : []),
    ],
  ],
  [
    'Events',
    'event',
    ({ occurred_at, type, version }) => [`${time(occurred_at)} ${type} v${version}`],
    ({ data }) => [block(data)],
  ],
  [
    'Deliveries',
    'delivery',
    (entry) => [
      `${time(entry.at)} ${entry.type} `,
      deliveryState(entry),
      ` ${entry.attempts.slice(-1).map(resultOf)}`,
    ],
    (entry) => [facts(factsOfDelivery(entry)), ...contentOfDelivery(entry)],
  ],
  [
    'Audit records',
    'audit',
    ({ at, action, result, reason }) => [`${time(at)} ${action} ${result}: ${reason}`],
    ({ kind: _, id: __, ...fields }) => [block(fields)],
  ],
  [
    'Operations',
    'operation',
    ({ id, state, reason }) => [[id, state, reason].filter(Boolean).join(' ')],
    ({ kind: _, ...operation }) => [block(operation)],
  ],
  [
    'Refunds',
    'refund',
    (refund) => [`${time(refund.at)} ${money(refund)} `, moneyStatus(refund.status), ` ${meaningOf(refund)}`],
    (refund) => [facts(descriptions.refund(refund).facts)],
  ],
  [
    'Refunds at the provider',
    'payout',
    (payout) => [`${time(payout.at)} ${payout.id} ${money(payout)} `, moneyStatus(payout.status)],
    ({ kind: _, ...payout }) => [block(payout)],
  ],
  [
    'Bookings in the ledger',
    'ledger',
    (booking) => [`${time(booking.at)} `, moneyStatus(booking.booking), ` ${money(booking)}`],
    ({ kind: _, ...booking }) => [block(booking)],
  ],
  ['Mails', 'mail', ({ at, to, subject }) => [`${time(at)} ${to} ${subject}`], ({ text }) => [block(text)]],
  [
    'Log lines',
    'log',
    ({ at, fields }) => [`${time(at)} ${fields.operation ?? ''} ${fields.code ?? fields.message ?? ''}`],
    ({ fields }) => [block(fields)],
  ],
]

/** The entry that is shown, its correlation id, what shows it, and the element to return to. */
let opened

/** Shows an entry, or what belongs to a correlation id alone. */
export function open({ kind, id, correlation = correlationOf(find(kind, id)), from }) {
  const head = element('div')
  const sections = parts.map(([title, ofKind, summary, content]) => {
    const heading = element('h3')
    const list = element('ol', { 'data-kind': ofKind })
    return { title, ofKind, summary, content, heading, list, rows: new Map() }
  })
  opened = { kind, id, correlation, from, head, sections }
  const close = button('×', shut, { class: 'close', 'aria-label': 'Close' })
  detail.replaceChildren(close, head, ...sections.flatMap(({ heading, list }) => [heading, list]))
  render()
  detail.hidden = false
  detail.scrollTop = 0
  detail.focus({ preventScroll: true })
  change({ entry: kind ? `${kind} ${id}` : `correlation ${correlation}` })
  mark()
}

export function shut() {
  detail.hidden = true
  document.getElementById(opened?.from)?.focus()
  opened = undefined
  change({ entry: '' })
  mark()
}

/** Shows the entry that the address names, once it has arrived. */
export function openSelected() {
  const [, kind, id] = /^(\w+) (.+)$/.exec(selected.entry) ?? []
  const isShown =
    opened && (opened.kind ? opened.kind === kind && opened.id === id : opened.correlation === id)
  if (!kind) {
    if (opened) shut()
  } else if (!isShown) {
    if (kind === 'correlation') open({ correlation: id })
    else if (find(kind, id)) open({ kind, id, from: `open-${kind}-${id}` })
  }
}

/** Marks the row of the entry, which may have been replaced. */
function mark() {
  for (const row of document.querySelectorAll('tr[aria-current]')) row.removeAttribute('aria-current')
  document.getElementById(opened?.from)?.closest('tr').setAttribute('aria-current', 'true')
}

/** Shows entries that have changed. */
export function refresh(changed) {
  if (!opened) return openSelected()
  const { kind, id, correlation, keys } = opened
  const concerns = (one) => (one.kind === kind && one.id === id) || keysOf(one).some((key) => keys.has(key))
  if (changed.some(concerns)) render(changed)
  // The audit may name the correlation id of a refund after it was opened.
  if (!correlation) opened.correlation = correlationOf(find(kind, id))
  mark()
}

/** Renders the entry and what belongs to it. Parts that have not changed stay as they are: the user may be reading them. */
function render(changed) {
  const { kind, id, correlation, head, sections } = opened
  const entry = kind && find(kind, id)
  const keys = keysAround(entry, correlation)
  opened.keys = keys
  const money = ['refund', 'payout', 'ledger'].includes(kind)
  if (!changed || money || changed.includes(entry)) {
    const {
      title,
      facts: own,
      content,
    } = entry ? descriptions[kind](entry) : { title: ['Correlation id'], facts: [], content: [] }
    const link = element('a', { href: addressOf({ correlation, entry: '' }) }, 'show only this')
    const all = element('a', { href: addressOf({ tab: 'found', what: correlation, entry: '' }) }, 'find all')
    const shown = [
      ...own,
      ['Tenant', entry && tenantOf(entry)],
      ['Correlation id', correlation && [element('span', { class: 'id' }, correlation), ' ', link, ' ', all]],
    ]
    opened.head = element(
      'div',
      {},
      element('h2', { id: 'detail-title' }, title),
      facts(shown),
      copyLink(),
      ...content,
    )
    replace(head, opened.head)
  }
  for (const { title, ofKind, summary, content, heading, list, rows } of sections) {
    const found = related(ofKind, keys).filter((one) => one !== entry)
    for (const one of found) {
      if (rows.has(one.id) && !changed?.includes(one)) continue
      const row = element('li', {}, folded(summary(one), ...content(one)))
      if (rows.has(one.id)) replace(rows.get(one.id), row)
      else list.append(row)
      rows.set(one.id, row)
    }
    heading.hidden = found.length === 0
    heading.textContent = `${title === 'Requests' && kind === 'request' ? 'Other requests' : title} (${found.length})`
  }
}

/** Returns a button that copies the address of what is shown. It holds no token. */
function copyLink() {
  const copy = button('Copy the address', async () => {
    await navigator.clipboard.writeText(location.href)
    copy.textContent = 'Copied'
  })
  return element('p', {}, copy)
}

/** Shows the headers and the body of a request or a response. */
function message(title, { headers, body, bytes }) {
  const all = Object.entries(headers).sort()
  const isCut = new TextEncoder().encode(body).length < bytes
  return [
    element('h3', {}, title),
    folded(`${all.length} headers`, facts(all)),
    body ? block(body) : element('p', { class: 'hint' }, 'no body'),
    isCut ? element('p', { class: 'hint' }, `The start of ${bytes} bytes.`) : '',
  ]
}

function queryOf(path) {
  const query = [...new URLSearchParams(path.split('?')[1])]
  if (query.length === 0) return []
  return [element('h3', {}, 'Query'), facts(query.map(([name, value]) => [name, longText(value)]))]
}

function longText(text) {
  const start = cut(text, 60)
  return start === text ? code(text) : folded(code(start), code(text))
}

/** Returns the heading of the rejected rows that are shown: the list of an operation has the first ones only. */
function rejectedRows(shown, { failed } = { failed: shown }) {
  return shown < failed ? `Rejected rows, the first ${shown} of ${failed}` : 'Rejected rows'
}
