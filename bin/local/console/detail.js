// The detail of an entry, with everything that has its correlation id.

import { contentOfDelivery, deliveryState, factsOfDelivery, resultOf } from './deliveries.js'
import {
  badge,
  block,
  button,
  code,
  cut,
  element,
  facts,
  folded,
  progress,
  replace,
  statusOf,
  time,
} from './elements.js'
import { find, ofCorrelation, tenantOf } from './entries.js'
import { addressOf } from './filters.js'

export const detail = element('aside', { id: 'detail', tabindex: '-1', 'aria-labelledby': 'detail-title' })
detail.hidden = true

/** How the entry itself is shown, by its kind. */
const descriptions = {
  request: ({ method, path, milliseconds, idempotency_status, error_code, request, response, ...entry }) => ({
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
      ['Rows', `${counts.succeeded} imported, ${counts.failed} rejected`],
    ],
    content: [
      ...(rejects.length > 0 ? [element('h3', {}, 'Rejected rows')] : []),
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
  audit: ({ kind: _, action, result, reason, at, ...record }) => ({
    title: [element('b', {}, action)],
    facts: [
      ['Result', badge(`${result}: ${reason}`, result === 'allow' ? 'good' : 'bad')],
      ['Time', time(at)],
    ],
    content: [block(record)],
  }),
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
    ({ kind: _, id: __, ...record }) => [block(record)],
  ],
  [
    'Operations',
    'operation',
    ({ id, state, reason }) => [[id, state, reason].filter(Boolean).join(' ')],
    ({ kind: _, ...operation }) => [block(operation)],
  ],
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
export function open({ kind, id, correlation = find(kind, id)?.correlation_id, from }) {
  const head = element('div')
  const related = (correlation ? parts : []).map(([title, ofKind, summary, content]) => {
    const heading = element('h3')
    const list = element('ol', { 'data-kind': ofKind })
    return { title, ofKind, summary, content, heading, list, rows: new Map() }
  })
  opened = { kind, id, correlation, from, head, related }
  const close = button('×', shut, { class: 'close', 'aria-label': 'Close' })
  detail.replaceChildren(close, head, ...related.flatMap(({ heading, list }) => [heading, list]))
  render()
  detail.hidden = false
  detail.scrollTop = 0
  detail.focus({ preventScroll: true })
  mark()
}

export function shut() {
  detail.hidden = true
  document.getElementById(opened?.from)?.focus()
  opened = undefined
  mark()
}

/** Marks the row of the entry, which may have been replaced. */
function mark() {
  for (const row of document.querySelectorAll('tr[aria-current]')) row.removeAttribute('aria-current')
  document.getElementById(opened?.from)?.closest('tr').setAttribute('aria-current', 'true')
}

/** Shows entries that have changed. */
export function refresh(changed) {
  if (!opened) return
  const { kind, id, correlation } = opened
  const concerns = (one) =>
    (one.kind === kind && one.id === id) || (correlation && one.correlation_id === correlation)
  if (changed.some(concerns)) render(changed)
  mark()
}

/** Renders the entry and what belongs to it. Parts that have not changed stay as they are: the user may be reading them. */
function render(changed) {
  const { kind, id, correlation, head, related } = opened
  const entry = kind && find(kind, id)
  if (!changed || changed.includes(entry)) {
    const {
      title,
      facts: own,
      content,
    } = entry ? descriptions[kind](entry) : { title: ['Correlation id'], facts: [], content: [] }
    const link = element('a', { href: addressOf({ correlation }) }, 'show only this')
    const shown = [
      ...own,
      ['Tenant', entry && tenantOf(entry)],
      ['Correlation id', correlation && [element('span', { class: 'id' }, correlation), ' ', link]],
    ]
    opened.head = element('div', {}, element('h2', { id: 'detail-title' }, title), facts(shown), ...content)
    replace(head, opened.head)
  }
  for (const { title, ofKind, summary, content, heading, list, rows } of related) {
    const found = ofCorrelation(ofKind, correlation).filter((one) => one !== entry)
    for (const one of found) {
      if (rows.has(one.id) && !changed?.includes(one)) continue
      const row = element('li', {}, folded(summary(one), ...content(one)))
      if (rows.has(one.id)) replace(rows.get(one.id), row)
      else list.append(row)
      rows.set(one.id, row)
    }
    heading.textContent = `${title === 'Requests' && kind === 'request' ? 'Other requests' : title} (${found.length})`
  }
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
