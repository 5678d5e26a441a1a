// The selected tab and the filters. They are in the address of the page, so that a reload or a link keeps them.

import { button, element } from './elements.js'
import { tenantOf } from './entries.js'

const names = ['tenant', 'status', 'correlation']
export const selected = { tab: '', tenant: '', status: '', correlation: '' }

const tenants = element('select', { name: 'tenant' })
const statuses = element('select', { name: 'status' })
const typed = { type: 'search', autocomplete: 'off', spellcheck: 'false', placeholder: 'contains …' }
const correlation = element('input', { name: 'correlation', ...typed })
const fields = { tenant: tenants, status: statuses, correlation }
const labels = { tenant: 'Tenant', status: 'Status', correlation: 'Correlation id' }
const shown = element('span', { class: 'shown' })
const clear = button('Clear filters', () => change({ tenant: '', status: '', correlation: '' }))
export const form = element(
  'form',
  { role: 'search', 'aria-label': 'Filters' },
  names.map((name) => element('label', {}, labels[name], fields[name])),
  shown,
  clear,
)

/** Calls back when the filters have changed. */
export function onChange(callback) {
  changed = callback
}
let changed = () => {}

form.addEventListener('submit', (event) => event.preventDefault())
form.addEventListener('input', () =>
  change(Object.fromEntries(names.map((name) => [name, fields[name].value]))),
)

function change(values) {
  Object.assign(selected, values)
  history.replaceState(null, '', addressOf())
  changed()
}

/** Returns the address of the page with other values than the selected ones. */
export function addressOf(values = {}) {
  const { tab, ...rest } = { ...selected, ...values }
  const query = new URLSearchParams(Object.entries(rest).filter(([, value]) => value)).toString()
  return `#${tab}${query && `?${query}`}`
}

export function readAddress() {
  const [tab, query] = location.hash.slice(1).split('?')
  const values = new URLSearchParams(query)
  selected.tab = tab || 'requests'
  for (const name of names) selected[name] = values.get(name) ?? ''
}

/** @returns whether a list shows an entry */
export function matches({ filters = [], statuses }, entry) {
  const rules = {
    tenant: (value) => tenantOf(entry) === value,
    status: (value) => statuses(entry).includes(value),
    correlation: (value) => entry.correlation_id?.includes(value) ?? false,
  }
  return filters.every((name) => selected[name] === '' || rules[name](selected[name]))
}

/** Shows the filters of a tab, with the values that its entries have. */
export function showFilters({ lists }, entriesOf, counts) {
  const filters = lists.flatMap((list) => list.filters ?? [])
  form.hidden = filters.length === 0
  const entries = lists.flatMap((list) => entriesOf(list).map((entry) => ({ list, entry })))
  const classesFirst = (a, b) => Number(b.endsWith('xx')) - Number(a.endsWith('xx')) || (a < b ? -1 : 1)
  offer(
    'tenant',
    entries
      .map(({ entry }) => tenantOf(entry))
      .filter(Boolean)
      .sort(),
  )
  offer('status', entries.flatMap(({ list, entry }) => list.statuses?.(entry) ?? []).sort(classesFirst))
  for (const name of names) {
    fields[name].parentElement.hidden = !filters.includes(name)
    if (fields[name].value !== selected[name]) fields[name].value = selected[name]
  }
  clear.hidden = names.every((name) => selected[name] === '')
  shown.textContent = clear.hidden ? '' : `${counts.shown} of ${counts.total}`
}

/** Replaces the options of a select only if they have changed: the user may be choosing one. */
function offer(name, values) {
  const options = [...new Set(['', ...values, selected[name]])]
  const present = [...fields[name].options].map(({ value }) => value)
  if (options.join('\n') === present.join('\n')) return
  fields[name].replaceChildren(...options.map((value) => element('option', { value }, value || 'all')))
}
