// Shows what the local run does. Entries arrive as server-sent events.

import { detail, open, refresh, shut } from './detail.js'
import { element, replace } from './elements.js'
import { add, all, clear, limit } from './entries.js'
import { addressOf, form, matches, onChange, readAddress, selected, showFilters } from './filters.js'
import { tabs } from './lists.js'

const lists = tabs.flatMap((tab) => tab.lists)
const byId = (id) => document.getElementById(id)
const [tabBar, sections, problems, connection] = ['tabs', 'sections', 'problems', 'connection'].map(byId)

for (const tab of tabs) build(tab)
sections.before(form)
sections.after(detail)
onChange(select)
window.addEventListener('hashchange', () => {
  readAddress()
  select()
})
document.addEventListener('keydown', moveByKey)
readAddress()
select()
connect()

function connect() {
  const source = new EventSource('console/stream')
  source.addEventListener('open', () => say('live', 'good'))
  // The browser connects again by itself.
  source.addEventListener('error', () => say('not connected: npm start has ended?', 'bad'))
  source.addEventListener('all', ({ data }) => {
    clear()
    for (const list of lists) {
      list.rows.clear()
      list.body.replaceChildren()
    }
    show(JSON.parse(data))
  })
  source.addEventListener('changed', ({ data }) => show(JSON.parse(data)))
}

function say(text, className) {
  connection.textContent = text
  connection.className = className
}

function show(added) {
  const changed = add(added)
  for (const list of lists)
    update(
      list,
      changed.filter(({ kind }) => kind === list.kind),
    )
  for (const tab of tabs) {
    const counts = tab.lists.map(({ kind, count = (entries) => entries.length }) => count(all(kind)))
    tab.counter.textContent = String(counts.reduce((total, one) => total + one) || '')
  }
  const failed = all('problem').filter(({ text }) => text)
  problems.hidden = failed.length === 0
  problems.textContent = failed.map(({ id, text }) => `${id} cannot be read: ${text}`).join('\n')
  filter()
  refresh(changed)
}

/** Replaces the rows of entries that have changed, and adds those of new ones. */
function update(list, changed) {
  for (const entry of changed) {
    const cells = list.columns.map(([title, cell, className = '']) =>
      element('td', { 'data-title': title, class: className }, cell(entry)),
    )
    const row = element('tr', { 'data-id': entry.id }, cells)
    const opener = row.querySelector('.open')
    if (opener) opener.id = `open-${entry.kind}-${entry.id}`
    const shown = list.rows.get(entry.id)
    if (shown) replace(shown, row)
    else if (list.oldestFirst) list.body.append(row)
    else list.body.prepend(row)
    list.rows.set(entry.id, row)
  }
  for (const [id, row] of list.rows) {
    if (list.rows.size <= limit) break
    row.remove()
    list.rows.delete(id)
  }
}

/** Hides the rows that the filters exclude. */
function filter() {
  for (const tab of tabs.filter(({ section }) => !section.hidden)) {
    const counts = { shown: 0, total: 0 }
    for (const list of tab.lists) {
      const entries = all(list.kind)
      const included = entries.filter((entry) => matches(list, entry))
      const ids = new Set(included.map(({ id }) => id))
      for (const [id, row] of list.rows) row.hidden = !ids.has(id)
      list.hint.textContent = entries.length === 0 ? list.empty : 'Nothing matches the filters.'
      list.hint.hidden = included.length > 0
      list.table.hidden = included.length === 0
      counts.shown += included.length
      counts.total += entries.length
    }
    showFilters(tab, ({ kind }) => all(kind), counts)
  }
}

function build(tab) {
  const id = tab.name.toLowerCase()
  tab.counter = element('span', { class: 'count' })
  tab.button = element('a', { role: 'tab', id: `tab-${id}` }, tab.name, ' ', tab.counter)
  tab.section = element('section', { role: 'tabpanel', 'aria-labelledby': `tab-${id}` })
  for (const list of tab.lists) {
    list.rows = new Map()
    list.body = element('tbody')
    list.body.addEventListener('click', (event) => openRow(list, event))
    list.hint = element('p', { class: 'hint' })
    const heads = list.columns.map(([title, , className = '']) => element('th', { class: className }, title))
    list.table = element(
      'table',
      { 'data-kind': list.kind },
      element('thead', {}, element('tr', {}, heads)),
      list.body,
    )
    tab.section.append(...(list.title ? [element('h2', {}, list.title)] : []), list.hint, list.table)
  }
  tabBar.append(tab.button)
  sections.append(tab.section)
}

/** Shows the tab and the filters that the address names. */
function select() {
  for (const { name, section, button } of tabs) {
    const tab = name.toLowerCase()
    const isSelected = tab === selected.tab
    section.hidden = !isSelected
    button.setAttribute('aria-selected', String(isSelected))
    button.href = addressOf({ tab, status: '' })
  }
  filter()
}

/** Shows the detail of a row, unless the click is for another control or selects text. */
function openRow({ kind }, { target }) {
  const control = target.closest('button, a, summary')
  const row = target.closest('tr')
  const opener = row.querySelector('.open')
  const from = opener?.id
  const { correlation } = control?.dataset ?? {}
  if (correlation) open({ correlation, from })
  else if (control ? control === opener : opener && getSelection().isCollapsed)
    open({ kind, id: row.dataset.id, from })
}

/** Escape closes the detail; the arrows go to the next row or tab. */
function moveByKey(event) {
  const { key, target } = event
  if (key === 'Escape' && !detail.hidden) return shut()
  const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[key]
  const scope = target.matches('[role=tab]') ? '[role=tab]' : target.matches('.open') ? '.open' : undefined
  if (!step || !scope || (scope === '.open') !== /Up|Down/.test(key)) return
  const reachable = [...document.querySelectorAll(scope)].filter((one) => one.offsetParent)
  const next = reachable[reachable.indexOf(target) + step]
  if (!next) return
  event.preventDefault()
  next.focus()
}
