// Shows what the local run does. Entries arrive as server-sent events; all text is set as text, never as HTML.

/** The lists: a tab shows one or several. A column is a heading and a function that returns text or elements. */
const correlation = ['Correlation id', (entry) => linkTo(entry.correlation_id)]
const tabs = [
  {
    name: 'Requests',
    lists: [
      {
        kind: 'request',
        empty: 'No request yet. Send one with the lines that npm start printed, or from the Reference.',
        columns: [
          ['Time', (entry) => time(entry.at)],
          ['Request', ({ method, path }) => [element('b', {}, method), ' ', path], 'long'],
          ['Status', ({ status, idempotency_status }) => statusOf(status, idempotency_status)],
          ['Duration', ({ milliseconds }) => `${milliseconds} ms`, 'number'],
          ['Error', ({ error_code }) => error_code ?? ''],
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
        empty: 'No event was published yet.',
        columns: [
          ['Time', (entry) => time(entry.occurred_at)],
          ['Type', ({ type, version }) => [element('b', {}, type), ` v${version}`]],
          ['Data', ({ data }) => code(data), 'long'],
          correlation,
        ],
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
          ['Time', (entry) => time(entry.at)],
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
          ['Time', (entry) => time(entry.at)],
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
          ['Time', (entry) => time(entry.at)],
          ['Refund', ({ refund_id }) => refund_id],
          ['Booking', ({ booking }) => booking],
          ['Tenant', ({ tenant }) => tenant],
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
        empty: 'No operation yet. POST /imports starts one.',
        columns: [
          ['Changed', (entry) => time(entry.updated_at)],
          ['Operation', ({ id }) => id],
          ['Tenant', ({ tenant }) => tenant],
          ['Progress', progress],
          ['State', ({ state, outcome }) => [state, outcome].filter(Boolean).join(': ')],
          ['Rows', ({ counts }) => `${counts.succeeded} imported, ${counts.failed} rejected`],
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
        empty: '',
        oldestFirst: true,
        columns: [
          ['Queue', ({ id }) => element('b', {}, id)],
          ['Waiting', ({ waiting }) => String(waiting), 'number labeled'],
          ['In progress', ({ in_progress }) => String(in_progress), 'number labeled'],
          ['Dead letters', deadLetters],
        ],
        count: (entries) => sum(entries.map(({ dead_letters }) => dead_letters.length)),
      },
    ],
  },
  {
    name: 'Audit',
    lists: [
      {
        kind: 'audit',
        empty: 'No audit record yet. Refunds, changes of codes and all denials leave one.',
        columns: [
          ['Time', (entry) => time(entry.at)],
          ['Action', ({ action }) => element('b', {}, action)],
          ['Target', ({ target }) => target, 'long'],
          ['Actor', ({ actor_id, role, tenant_id }) => `${actor_id} (${role}) in ${tenant_id}`],
          [
            'Result',
            ({ result, reason }) => badge(`${result}: ${reason}`, result === 'allow' ? 'good' : 'bad'),
          ],
          correlation,
        ],
      },
    ],
  },
]
const lists = tabs.flatMap(({ lists }) => lists)
/** How many rows a list shows. */
const limit = 500

/** All entries by kind and id, oldest first. */
const entries = new Map()
const token = document.querySelector('meta[name=console-token]').content
const [tabBar, sections, detail, problems, connection] = [
  'tabs',
  'sections',
  'detail',
  'problems',
  'connection',
].map((id) => document.getElementById(id))
let opened

for (const tab of tabs) build(tab)
window.addEventListener('hashchange', select)
select()
connect()

function connect() {
  const source = new EventSource('console/stream')
  source.addEventListener('open', () => say('live', 'good'))
  // The browser connects again by itself.
  source.addEventListener('error', () => say('not connected: npm start has ended?', 'bad'))
  source.addEventListener('all', ({ data }) => {
    entries.clear()
    for (const list of lists) {
      list.rows.clear()
      list.body.replaceChildren()
    }
    add(JSON.parse(data))
  })
  source.addEventListener('changed', ({ data }) => add(JSON.parse(data)))
}

function say(text, className) {
  connection.textContent = text
  connection.className = className
}

function add(added) {
  for (const entry of added) {
    const ofKind = entries.get(entry.kind) ?? new Map()
    entries.set(entry.kind, ofKind.set(entry.id, entry))
    if (ofKind.size > limit) ofKind.delete(ofKind.keys().next().value)
  }
  for (const list of lists)
    update(
      list,
      added.filter(({ kind }) => kind === list.kind),
    )
  for (const tab of tabs) tab.counter.textContent = String(sum(tab.lists.map(countOf)) || '')
  const failed = [...(entries.get('problem')?.values() ?? [])].filter(({ text }) => text)
  problems.hidden = failed.length === 0
  problems.textContent = failed.map(({ id, text }) => `${id} cannot be read: ${text}`).join('\n')
  if (opened && added.some(({ correlation_id }) => correlation_id === opened)) open(opened)
}

function countOf({ kind, count = (all) => all.length }) {
  return count([...(entries.get(kind)?.values() ?? [])])
}

/** Replaces the rows of entries that have changed, and adds those of new ones. */
function update(list, changed) {
  for (const entry of changed) {
    const cells = list.columns.map(([title, cell, className = '']) =>
      element('td', { 'data-title': title, class: className }, cell(entry)),
    )
    const row = element('tr', { 'data-id': entry.id }, cells)
    const shown = list.rows.get(entry.id)
    if (shown) shown.replaceWith(row)
    else if (list.oldestFirst) list.body.append(row)
    else list.body.prepend(row)
    list.rows.set(entry.id, row)
  }
  for (const [id, row] of list.rows) {
    if (list.rows.size <= limit) break
    row.remove()
    list.rows.delete(id)
  }
  list.hint.hidden = list.rows.size > 0
  list.table.hidden = list.rows.size === 0
}

function build(tab) {
  const id = tab.name.toLowerCase()
  tab.counter = element('span', { class: 'count' })
  tab.button = element('a', { role: 'tab', href: `#${id}`, id: `tab-${id}` }, tab.name, ' ', tab.counter)
  tab.section = element('section', { role: 'tabpanel', 'aria-labelledby': `tab-${id}` })
  for (const list of tab.lists) {
    list.rows = new Map()
    list.body = element('tbody')
    list.hint = element('p', { class: 'hint' }, list.empty)
    const heads = list.columns.map(([title, , className = '']) => element('th', { class: className }, title))
    list.table = element(
      'table',
      { 'data-kind': list.kind },
      element('thead', {}, element('tr', {}, heads)),
      list.body,
    )
    list.table.hidden = true
    tab.section.append(...(list.title ? [element('h2', {}, list.title)] : []), list.hint, list.table)
  }
  tabBar.append(tab.button)
  sections.append(tab.section)
}

/** Shows the tab that the address names. */
function select() {
  const name = location.hash.slice(1) || 'requests'
  for (const tab of tabs) {
    const selected = tab.name.toLowerCase() === name
    tab.section.hidden = !selected
    tab.button.setAttribute('aria-selected', String(selected))
  }
}

/** Shows everything that belongs to a correlation id. */
function open(id) {
  opened = id
  const of = (kind) => [...(entries.get(kind)?.values() ?? [])].filter((entry) => entry.correlation_id === id)
  const part = (title, kind, summary, content) => {
    const found = of(kind)
    const items = found.map((entry) =>
      element('li', {}, element('p', {}, summary(entry)), content?.(entry) ?? []),
    )
    return [element('h3', {}, `${title} (${found.length})`), element('ol', { 'data-kind': kind }, items)]
  }
  const close = element('button', { type: 'button', 'aria-label': 'Close' }, '×')
  close.addEventListener('click', () => {
    opened = undefined
    detail.hidden = true
  })
  detail.replaceChildren(
    close,
    element('h2', {}, id),
    ...part(
      'Requests',
      'request',
      ({ at, method, path, status, idempotency_status, milliseconds, error_code }) => [
        `${time(at)} ${method} ${path} `,
        ...statusOf(status, idempotency_status),
        ` ${milliseconds} ms ${error_code ?? ''}`,
      ],
    ),
    ...part(
      'Events',
      'event',
      ({ occurred_at, type, version }) => `${time(occurred_at)} ${type} v${version}`,
      ({ data }) => json(data),
    ),
    ...part(
      'Log lines',
      'log',
      ({ at, fields }) => `${time(at)} ${fields.operation ?? ''} ${fields.code ?? ''}`,
      ({ fields }) => json(fields),
    ),
    ...part(
      'Audit records',
      'audit',
      ({ at, action, result, reason }) => `${time(at)} ${action} ${result}: ${reason}`,
      ({ kind: _, id: __, ...record }) => json(record),
    ),
    ...part('Operations', 'operation', (entry) => [`${entry.id} ${entry.state} `, progress(entry)]),
  )
  detail.hidden = false
}

function linkTo(id) {
  if (!id) return ''
  const button = element('button', { type: 'button', class: 'link', title: id }, id)
  button.addEventListener('click', () => {
    open(id)
    detail.scrollTop = 0
  })
  return button
}

function deadLetters({ id, dead_letters: letters }) {
  if (letters.length === 0) return 'no dead letters'
  const button = element('button', { type: 'button' }, 'Redrive')
  button.addEventListener('click', async () => {
    button.disabled = true
    button.textContent = 'Redriving …'
    const headers = { 'X-Console-Token': token }
    const response = await fetch('console/redrive', { method: 'POST', headers, body: id })
    button.textContent = response.ok ? 'Redriven' : await response.text()
  })
  const shown = letters
    .slice(0, 10)
    .map(({ at, body }) => element('li', {}, `${time(at)} `, element('code', {}, body)))
  return [element('p', {}, badge(String(letters.length), 'bad'), ' ', button), element('ol', {}, shown)]
}

function progress({ progress: value, state }) {
  const done = ['succeeded', 'failed', 'canceled'].includes(state) && value === 0 ? 1 : value
  return element('progress', { max: '1', value: String(done), class: state }, `${Math.floor(value * 100)} %`)
}

function statusOf(status, idempotencyStatus) {
  const replayed = idempotencyStatus === 'replayed' ? [' ', badge('replayed', '')] : []
  return [badge(String(status), status >= 500 ? 'bad' : status >= 400 ? 'fair' : 'good'), ...replayed]
}

function badge(text, className) {
  return element('span', { class: `badge ${className}` }, text)
}

function money({ amount, currency }) {
  return `${amount} ${(currency ?? '').toUpperCase()}`
}

function code(value) {
  return element('code', {}, JSON.stringify(value))
}

function json(value) {
  return element('pre', {}, JSON.stringify(value, null, 2))
}

/** Returns the time of day, with milliseconds. @param at milliseconds since 1970, or a time as text */
function time(at) {
  const date = new Date(at)
  const twoDigits = [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) =>
    String(part).padStart(2, '0'),
  )
  return `${twoDigits.join(':')}.${String(date.getMilliseconds()).padStart(3, '0')}`
}

function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0)
}

function element(name, attributes = {}, ...children) {
  const created = document.createElement(name)
  for (const [attribute, value] of Object.entries(attributes))
    if (value) created.setAttribute(attribute, value)
  created.append(...children.flat())
  return created
}
