// Shows what a deployment does. The entries of the local run arrive as server-sent events; a stage is read when a view asks.

import { detail, open, openSelected, refresh, shut } from './detail.js'
import { button, element, replace } from './elements.js'
import { add, all, clear, isLimited, keepAll, find as known, newestFirst } from './entries.js'
import {
  addressOf,
  change,
  form,
  lastMinutes,
  matches,
  millisecondsOf,
  onChange,
  questionOf,
  readAddress,
  selected,
  showFilters,
} from './filters.js'
import { tabs } from './lists.js'
import { about, askAbout, costOf, findAll, read, takeToken } from './reading.js'

const byId = (id) => document.getElementById(id)
const [tabBar, sections, problems, connection, find] = [
  'tabs',
  'sections',
  'problems',
  'connection',
  'find',
].map(byId)
const what = find.querySelector('input')

takeToken()
onChange(select, () => {
  // A read in progress continues. If each press started it again, a user who presses often would never see the result.
  if (shownTab()?.lists.some(({ isReading }) => isReading)) return
  asked = ''
  searching = undefined
})
window.addEventListener('hashchange', () => {
  readAddress()
  select()
})
document.addEventListener('keydown', moveByKey)
find.addEventListener('submit', (event) => {
  event.preventDefault()
  if (what.value.trim()) change({ tab: 'found', what: what.value.trim(), entry: '' })
})
askAbout().then(start, ({ message }) => {
  say('not connected', 'bad')
  show('page', message)
})

function start() {
  for (const tab of tabs) {
    // What a stage cannot list is left out next to what it can.
    const readable = tab.lists.filter(({ kind }) => about.live || about.readable[kind])
    if (readable.length > 0) tab.lists = readable
    build(tab)
  }
  sections.before(form)
  sections.after(detail)
  readAddress()
  if (about.stack) document.title = `${about.stack} – Console`
  if (about.live) connect()
  else say(`${about.stack}, read only`, 'good')
  select()
}

function connect() {
  const source = new EventSource('console/stream')
  source.addEventListener('open', () => say('live', 'good'))
  // The browser connects again by itself.
  source.addEventListener('error', () => say('not connected: npm start has ended?', 'bad'))
  source.addEventListener('all', ({ data }) => {
    clear()
    receive(JSON.parse(data))
  })
  source.addEventListener('changed', ({ data }) => receive(JSON.parse(data)))
}

function say(text, className) {
  connection.textContent = text
  connection.className = className
}

const shownProblems = new Map()

/** Shows what is wrong, or no longer is. */
function show(name, problem) {
  if (problem) shownProblems.set(name, problem)
  else shownProblems.delete(name)
  problems.hidden = shownProblems.size === 0
  const text = [...shownProblems.values()].join('\n')
  if (problems.textContent !== text) problems.textContent = text
}

function receive(added) {
  const changed = add(added)
  for (const { id, text } of changed.filter(({ kind }) => kind === 'problem'))
    show(id, text && `${id} cannot be read: ${text}`)
  for (const tab of tabs) {
    const counts = tab.lists.map(({ kind, count = (entries) => entries.length }) => count(all(kind)))
    tab.counter.textContent = String(counts.reduce((total, one) => total + one) || '')
  }
  for (const list of tabs.flatMap((tab) => tab.lists))
    for (const { id, kind } of changed) if (kind === list.kind) list.stale.add(id)
  render()
  refresh(changed)
}

/** Shows the rows of the selected tab that match its filters. Rows that have not changed stay as they are. */
function render() {
  for (const tab of tabs.filter(({ section }) => !section.hidden)) {
    const counts = { shown: 0, total: 0 }
    for (const list of tab.lists) {
      const entries = list.inOrder ? all(list.kind) : newestFirst(list.kind)
      const included = entries.filter((entry) => matches(list, entry))
      place(list, included)
      list.hint.textContent = hintOf(list, entries.length)
      list.hint.hidden = included.length > 0
      list.table.hidden = included.length === 0
      describeReading(list, entries.length)
      counts.shown += included.length
      counts.total += entries.length
    }
    showFilters(tab, ({ kind }) => all(kind), counts)
  }
}

function place(list, entries) {
  const { rows, body, stale } = list
  const ids = new Set(entries.map(({ id }) => id))
  for (const [id, row] of rows) {
    if (ids.has(id)) continue
    row.remove()
    rows.delete(id)
  }
  let before = body.firstElementChild
  for (const entry of entries) {
    let row = rows.get(entry.id)
    if (!row || stale.has(entry.id)) {
      const next = rowOf(list, entry)
      if (row) replace(row, next)
      if (before === row) before = next
      row = next
      rows.set(entry.id, row)
    }
    if (row === before) before = before.nextElementSibling
    else body.insertBefore(row, before)
  }
  stale.clear()
}

function rowOf(list, entry) {
  const cells = list.columns.map(([title, cell, className = '']) =>
    element('td', { 'data-title': title, class: className }, cell(entry)),
  )
  const row = element('tr', { 'data-id': entry.id }, cells)
  const opener = row.querySelector('.open')
  if (opener) opener.id = `open-${entry.kind}-${entry.id}`
  return row
}

/** Renders all rows again: their times are in another zone. */
function renderAgain() {
  for (const list of tabs.flatMap((tab) => tab.lists)) for (const { id } of all(list.kind)) list.stale.add(id)
}

function hintOf(list, count) {
  if (list.problem) return list.problem
  if (list.isReading) return 'Reading …'
  if (count > 0) return 'Nothing matches the filters.'
  if (about.live || list.kind === 'found') return list.empty
  if (!about.readable[list.kind])
    return 'A stage keeps no list of these: find a correlation id, an order, a refund or another id above.'
  if (about.readable[list.kind] === 'with a tenant' && !selected.tenant) return 'Name a tenant and read.'
  return list.reading ? 'There are none in this time.' : 'Not read yet.'
}

/** Says what was read, what that took, and what is left. */
function describeReading(list, count) {
  const { reading, isReading, summary, older, again } = list
  const readable = about.readable[list.kind]
  const isMore = reading ? !reading.complete : about.live && isLimited(list.kind)
  const needsTenant = readable === 'with a tenant' && !selected.tenant
  const texts = []
  if (reading) texts.push(`${count} read: ${costOf(reading)}.`)
  if (reading?.logs_failed) texts.push(`The logs were not searched: ${reading.logs_failed}`)
  else if (reading?.complete) texts.push('These are all.')
  else if (isMore && reading && !reading.cursor)
    texts.push('This is a sample, the newest: choose a shorter time or a filter.')
  else if (isMore) texts.push(`The newest ${count} are shown.`)
  if (isMore && about.live && !readable) texts.push('Nothing keeps older ones.')
  else if (isMore && needsTenant) texts.push('Name a tenant to read older ones.')
  if (!about.live && list.ofAll && !selected.tenant && list.filters.includes('tenant')) texts.push(list.ofAll)
  const text = texts.join(' ')
  if (summary.textContent !== text) summary.textContent = text
  older.hidden = !isMore || !readable || needsTenant || (reading && !reading.cursor)
  again.hidden = about.live || !reading || Boolean(list.filters?.includes('from') || list.asks)
  for (const control of [older, again]) control.disabled = isReading
  list.status.hidden = text === '' && older.hidden && again.hidden
}

/** What the stage was asked last; a view that asks for the same again reads again only by its button. */
let asked = ''

const shownTab = () => tabs.find(({ section }) => !section.hidden)

/** Reads what the selected tab shows, unless it arrives by itself. */
function readTab() {
  const tab = shownTab()
  if (!tab || about.live || selected.tab === 'found') return
  const isEmpty =
    !selected.from && !selected.to && tab.lists.some(({ filters = [] }) => filters.includes('from'))
  if (isEmpty) {
    Object.assign(selected, lastMinutes(60))
    history.replaceState(null, '', addressOf())
  }
  const { entry: _, ...question } = selected
  const key = JSON.stringify(question)
  if (key === asked) return
  asked = key
  for (const list of tab.lists) {
    const readable = about.readable[list.kind]
    clear(list.kind)
    list.reading = undefined
    list.problem = undefined
    if (readable && (readable === 'always' || selected.tenant)) void readInto(list, questionOf(list))
  }
}

/** Reads entries of a list. What was asked before is no longer wanted. */
async function readInto(list, { from, ...question }, before) {
  list.running?.abort()
  const running = new AbortController()
  list.running = running
  list.isReading = true
  render()
  // What waits in any tenant is read however old it is.
  const range = list.allTimes && !question.tenant ? {} : { from }
  const asked = read({ ...question, ...range, cursor: before?.cursor ?? '' }, running.signal)
  await fill(list, asked, running.signal, before)
}

/** Shows the entries that were asked for in a list, or why there are none. */
async function fill(list, asked, signal, before) {
  try {
    const answer = await asked
    keepAll(list.kind)
    list.reading = sumOf(before, answer)
    list.isReading = false
    receive(answer.entries)
  } catch (thrown) {
    if (signal.aborted) return
    list.isReading = false
    list.problem = thrown.message
  }
  render()
}

function sumOf(before, { entries: _, ...answer }) {
  if (!before) return answer
  const total = (name) => (before[name] ?? 0) + answer[name]
  return { ...answer, units: total('units'), calls: total('calls'), milliseconds: total('milliseconds') }
}

let searching

/** Finds everything about what the address names. */
async function search() {
  const list = tabs.flatMap((tab) => tab.lists).find(({ kind }) => kind === 'found')
  const key = JSON.stringify([selected.what, selected.from, selected.to, selected.tenant])
  if (!selected.what || key === searching?.key) return
  searching?.running.abort()
  const running = new AbortController()
  searching = { key, running }
  what.value = selected.what
  clear('found')
  Object.assign(list, { reading: undefined, problem: undefined, isReading: true })
  render()
  const { what: asked, tenant, from, to } = selected
  const range = { tenant, from: millisecondsOf(from), to: millisecondsOf(to) }
  await fill(list, findAll({ what: asked, ...range }, running.signal), running.signal)
}

function build(tab) {
  const id = tab.name.toLowerCase()
  tab.counter = element('span', { class: 'count' })
  tab.button = element('a', { role: 'tab', id: `tab-${id}` }, tab.name, ' ', tab.counter)
  tab.section = element('section', { role: 'tabpanel', 'aria-labelledby': `tab-${id}` })
  for (const list of tab.lists) {
    list.rows = new Map()
    list.stale = new Set()
    list.body = element('tbody')
    list.body.addEventListener('click', (event) => openRow(list, event))
    list.hint = element('p', { class: 'hint empty' })
    list.summary = element('span', { role: 'status' })
    list.older = button('Read older ones', () => {
      const { reading } = list
      if (!about.live || reading) return void readInto(list, questionOf(list), reading)
      // The newest have arrived by themselves; the source is asked from the start.
      void readInto(list, questionOf(list))
    })
    list.again = button('Read again', () => {
      clear(list.kind)
      void readInto(list, questionOf(list))
    })
    list.status = element('p', { class: 'reading' }, list.summary, ' ', list.older, ' ', list.again)
    const heads = list.columns.map(([title, , className = '']) => element('th', { class: className }, title))
    list.table = element(
      'table',
      { 'data-kind': list.kind },
      element('thead', {}, element('tr', {}, heads)),
      list.body,
    )
    tab.section.append(
      ...(list.title ? [element('h2', {}, list.title)] : []),
      list.hint,
      list.table,
      list.status,
    )
  }
  tabBar.append(tab.button)
  sections.append(tab.section)
}

let shownZone

/** Shows the tab, the filters and the entry that the address names. */
function select() {
  for (const { name, section, button } of tabs) {
    const tab = name.toLowerCase()
    const isSelected = tab === selected.tab
    section.hidden = !isSelected
    button.setAttribute('aria-selected', String(isSelected))
    // With its path, as checkers take a link to a fragment at the start of a page for a skip link.
    button.href = `${location.pathname}${addressOf({ tab, status: '', target: '', entry: '' })}`
    // A small screen shows some of the tabs.
    if (isSelected) button.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }
  const zone = new URLSearchParams(location.hash.split('?')[1]).get('zone')
  if (zone !== shownZone) renderAgain()
  shownZone = zone
  readTab()
  if (selected.tab === 'found') void search()
  render()
  openSelected()
}

/** Shows the detail of a row, unless the click is for another control or selects text. */
function openRow({ kind }, { target }) {
  const control = target.closest('button, a, summary')
  if (control?.dataset.kind) return
  const row = target.closest('tr')
  const opener = row.querySelector('.open')
  const from = opener?.id
  const { correlation } = control?.dataset ?? {}
  if (correlation) open({ correlation, from })
  else if (control ? control === opener : opener && getSelection().isCollapsed)
    open({ kind, id: row.dataset.id, from })
}

// A link to another entry, in a list or in the detail.
document.addEventListener('click', ({ target }) => {
  const { kind, id } = target.closest?.('button.link')?.dataset ?? {}
  if (!kind) return
  if (known(kind, id)) open({ kind, id, from: `open-${kind}-${id}` })
  else change({ tab: 'found', what: id, entry: '' })
})

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
