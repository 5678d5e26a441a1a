// The selected tab, the filters and the entry that is shown. They are in the address, so that a reload or a colleague sees the same.

import { button, element, inZone, setZone, timeIn, zone } from './elements.js'
import { keysOf, tenantOf, timeOf } from './entries.js'
import { about } from './reading.js'

/** The filters, by their names in the address. Times are in UTC there. */
const labels = {
  tenant: 'Tenant',
  status: 'Status',
  actor: 'Actor',
  action: 'Action',
  target: 'Target',
  path: 'Path',
  code: 'Error code',
  correlation: 'Correlation id',
  from: 'From',
  to: 'To',
}
const names = Object.keys(labels)
const empty = Object.fromEntries(names.map((name) => [name, '']))
export const selected = { tab: '', what: '', entry: '', ...empty }

const typed = { type: 'search', autocomplete: 'off', spellcheck: 'false', maxlength: '200' }
const moment = { type: 'datetime-local', step: '1' }
const tenants = element('datalist', { id: 'tenants' })
const fields = {
  ...Object.fromEntries(names.map((name) => [name, element('input', { name, ...typed })])),
  tenant: element('input', { name: 'tenant', list: 'tenants', ...typed }),
  status: element('select', { name: 'status' }),
  from: element('input', { name: 'from', ...moment }),
  to: element('input', { name: 'to', ...moment }),
}

const ownZone = Intl.DateTimeFormat().resolvedOptions().timeZone
const zones = element(
  'select',
  { name: 'zone' },
  [...new Set([ownZone, 'UTC'])].map((name) => element('option', { value: name }, name)),
)
const spans = { '15 minutes': 15, hour: 60, day: 1440, '7 days': 10_080 }
const span = element(
  'select',
  { name: 'span' },
  element('option', { value: '' }, 'from – to'),
  Object.entries(spans).map(([name, minutes]) =>
    element('option', { value: String(minutes) }, `last ${name}`),
  ),
)
const shown = element('span', { class: 'shown', role: 'status' })
const submit = element('button', { type: 'submit' }, 'Read')
const clear = button('Clear filters', () => change({ ...empty }))
/** Fields take much of a small screen, so they are folded there. */
const folded = element(
  'details',
  {},
  element('summary', {}, 'Filters'),
  element(
    'div',
    { class: 'fields' },
    tenants,
    names.map((name) => element('label', {}, element('span', {}, labels[name]), fields[name])),
    element('label', {}, element('span', {}, 'Time'), span),
    element('label', {}, element('span', {}, 'Zone'), zones),
    submit,
    clear,
    shown,
  ),
)
folded.open = matchMedia('(min-width: 50rem)').matches
export const form = element('form', { id: 'filters', role: 'search', 'aria-label': 'Filters' }, folded)

/** Calls back when the address has changed, and before the user asks for the same again. */
export function onChange(callback, again) {
  changed = callback
  readAgain = again
}
let changed = () => {}
let readAgain = () => {}

form.addEventListener('submit', (event) => {
  event.preventDefault()
  readAgain()
  change(typedValues())
})
form.addEventListener('input', ({ target }) => {
  if (target === zones) {
    setZone(zones.value)
    change({})
  } else if (target === span) {
    change({ ...typedValues(), ...lastMinutes(Number(span.value)) })
    span.value = ''
  }
  // A stage is read when it is asked, not with each key.
  else if (about.live && selected.tab !== 'found') change(typedValues())
})

/** Returns the range that ends now, in whole seconds. What happens on the local run belongs to it, too. */
export function lastMinutes(minutes) {
  const now = Math.ceil(Date.now() / 1000) * 1000
  const from = new Date(now - minutes * 60_000).toISOString()
  return { from, to: about.live ? '' : new Date(now).toISOString() }
}

function typedValues() {
  const values = Object.fromEntries(names.map((name) => [name, fields[name].value.trim()]))
  return { ...values, from: timeIn(fields.from.value), to: timeIn(fields.to.value) }
}

export function change(values) {
  Object.assign(selected, values)
  history.replaceState(null, '', addressOf())
  changed()
}

/** Returns the address of the page with other values than the selected ones. */
export function addressOf(values = {}) {
  const { tab, ...rest } = { ...selected, ...values }
  const query = new URLSearchParams(Object.entries({ ...rest, zone: zone() === ownZone ? '' : zone() }))
  for (const [name, value] of [...query]) if (!value) query.delete(name)
  return `#${tab}${query.size > 0 ? `?${query}` : ''}`
}

export function readAddress() {
  const [tab, query] = location.hash.slice(1).split('?')
  const values = new URLSearchParams(query)
  selected.tab = tab || 'requests'
  for (const name of ['what', 'entry', ...names]) selected[name] = values.get(name) ?? ''
  setZone(values.get('zone') === 'UTC' ? 'UTC' : ownZone)
}

const has = (text, part) =>
  String(text ?? '')
    .toLowerCase()
    .includes(part.toLowerCase())

/** @returns whether a list shows an entry */
export function matches({ filters = [], statuses, target }, entry) {
  const rules = {
    tenant: (value) => tenantOf(entry) === value,
    status: (value) => statuses(entry).includes(value),
    actor: (value) => has(entry.actor_id, value) || has(entry.token_sub, value),
    action: (value) => has(entry.action, value),
    target: (value) => target(entry).some((one) => has(one, value)),
    path: (value) => has(`${entry.method} ${entry.path}`, value),
    code: (value) => has(entry.error_code, value),
    correlation: (value) =>
      has(entry.correlation_id, value) || keysOf(entry).includes(`correlation ${value}`),
    from: (value) => timeOf(entry) >= Date.parse(value),
    to: (value) => timeOf(entry) < Date.parse(value),
  }
  return filters.every((name) => selected[name] === '' || rules[name](selected[name]))
}

/** Returns what a list asks its source for. @param filters those of the list */
export function questionOf({ kind, filters = [] }) {
  const own = Object.fromEntries(
    names.filter((name) => filters.includes(name)).map((name) => [name, selected[name]]),
  )
  const { path: _, from, to, ...rest } = own
  return { kind, ...rest, from: millisecondsOf(from), to: millisecondsOf(to) }
}

export function millisecondsOf(time) {
  return time ? String(Date.parse(time)) : ''
}

/** The address whose values the fields show. */
let synchronized

function showSelected() {
  for (const name of names) {
    const isTime = fields[name].type === 'datetime-local'
    const shows = isTime ? timeIn(fields[name].value) : fields[name].value
    if (shows !== selected[name]) fields[name].value = isTime ? inZone(selected[name]) : selected[name]
    if (fields[name].type === 'search') fields[name].placeholder = about.live ? 'contains …' : ''
  }
}

/** Shows the filters of a tab, with the values that its entries have. */
export function showFilters({ lists }, entriesOf, counts) {
  const filters = lists.flatMap(({ filters = [], asks = [] }) => [...filters, ...asks])
  form.hidden = filters.length === 0
  const entries = lists.flatMap((list) => entriesOf(list).map((entry) => ({ list, entry })))
  const known = new Set(entries.map(({ entry }) => tenantOf(entry)).filter(Boolean))
  replaceOptions(tenants, [...known].sort())
  const classesFirst = (a, b) => Number(b.endsWith('xx')) - Number(a.endsWith('xx')) || (a < b ? -1 : 1)
  const statuses = entries.flatMap(({ list, entry }) => list.statuses?.(entry) ?? [])
  const offered = [...lists.flatMap((list) => list.states ?? []), ...statuses].sort(classesFirst)
  replaceOptions(fields.status, ['', ...new Set([...offered, selected.status].filter(Boolean))])
  const targetLabel = lists.find(({ targetLabel }) => targetLabel)?.targetLabel ?? labels.target
  fields.target.previousSibling.textContent = targetLabel
  for (const name of names) fields[name].parentElement.hidden = !filters.includes(name)
  const current = addressOf({ entry: '' })
  // What the user has typed and not asked for yet stays.
  if (current !== synchronized) showSelected()
  synchronized = current
  fields.tenant.placeholder = about.live ? 'all' : ''
  span.parentElement.hidden = !filters.includes('from')
  zones.value = zone()
  submit.hidden = about.live && selected.tab !== 'found'
  clear.hidden = names.every((name) => selected[name] === '' || !filters.includes(name))
  const isFiltering = !clear.hidden && lists.some((list) => list.filters)
  shown.textContent = isFiltering ? `${counts.shown} of ${counts.total}` : ''
}

/** Replaces options only if they have changed: the user may be choosing one. */
function replaceOptions(list, values) {
  const present = [...list.children].map(({ value }) => value)
  if (values.join('\n') === present.join('\n')) return
  const { value } = list
  list.replaceChildren(...values.map((one) => element('option', { value: one }, one || 'all')))
  if (value !== undefined) list.value = value
}
