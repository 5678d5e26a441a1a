// Builds the elements of the page. All text is set as text, never as HTML.

export function element(name, attributes = {}, ...children) {
  const created = document.createElement(name)
  for (const [attribute, value] of Object.entries(attributes))
    if (value !== undefined) created.setAttribute(attribute, value)
  created.append(...children.flat())
  return created
}

export function badge(text, className = '') {
  return element('span', { class: `badge ${className}` }, text)
}

export function button(text, action, attributes = {}) {
  const created = element('button', { type: 'button', ...attributes }, text)
  created.addEventListener('click', action)
  return created
}

/** Returns a button that shows the entry of its row. */
export function opener(...children) {
  return element('button', { type: 'button', class: 'open' }, ...children)
}

export function statusOf({ status, idempotency_status }) {
  const replayed = idempotency_status === 'replayed' ? [' ', badge('replayed')] : []
  return [badge(String(status), status >= 500 ? 'bad' : status >= 400 ? 'fair' : 'good'), ...replayed]
}

export function progress({ progress: value, state }) {
  if (value === undefined) return ''
  const done = ['succeeded', 'failed', 'canceled'].includes(state) && value === 0 ? 1 : value
  const attributes = { max: '1', value: String(done), class: state, 'aria-label': 'Progress' }
  return element('progress', attributes, `${Math.floor(value * 100)} %`)
}

export function code(value) {
  return element('code', {}, typeof value === 'string' ? value : JSON.stringify(value))
}

/** Returns a block of text with a button that copies it. JSON is indented. */
export function block(value, className = '') {
  const text = typeof value === 'string' ? indented(value) : JSON.stringify(value, null, 2)
  const copy = button('Copy', async () => {
    await navigator.clipboard.writeText(text)
    copy.textContent = 'Copied'
  })
  return element('div', { class: `block ${className}` }, copy, element('pre', {}, text))
}

/** Keeps numbers as they were sent, if the browser can: JavaScript rounds large ones. */
function indented(text) {
  const asSent = (_, value, { source } = {}) =>
    typeof value === 'number' && JSON.rawJSON ? JSON.rawJSON(source) : value
  try {
    return JSON.stringify(JSON.parse(text, asSent), null, 2)
  } catch {
    return text
  }
}

/** Returns names with their values; those without a value are left out. */
export function facts(pairs) {
  const shown = pairs.filter(([, value]) => value !== undefined && value !== null && value !== '')
  return element(
    'dl',
    {},
    shown.map(([name, value]) => element('div', {}, element('dt', {}, name), element('dd', {}, value))),
  )
}

/** Returns content that is shown on request. */
export function folded(summary, ...content) {
  return element('details', {}, element('summary', {}, summary), ...content)
}

/** Replaces an element by another version of it. Its open parts stay open, and its focus stays where it was. */
export function replace(shown, next) {
  const controls = (within) => [...within.querySelectorAll('button, a, summary')]
  const parts = (within) => [...within.querySelectorAll('details')]
  const focused = controls(shown).indexOf(document.activeElement)
  const wereOpen = parts(shown).map(({ open }) => open)
  shown.replaceWith(next)
  for (const [index, part] of parts(next).entries()) part.open = wereOpen[index] ?? part.open
  controls(next)[focused]?.focus({ preventScroll: true })
}

let shownZone = 'UTC'

export function zone() {
  return shownZone
}

/** @param name `UTC`, or the zone of this browser */
export function setZone(name) {
  shownZone = name
}

const twoDigits = (part) => String(part).padStart(2, '0')

/** Returns date and time in the zone that is shown, up to the millisecond. @param at milliseconds since 1970, or a time as text */
export function time(at) {
  const date = new Date(at)
  if (Number.isNaN(date.getTime())) return ''
  const [day, ofDay] = partsOf(date)
  return `${day} ${ofDay}.${String(date.getMilliseconds()).padStart(3, '0')}`
}

function partsOf(date) {
  if (shownZone === 'UTC') return date.toISOString().slice(0, 19).split('T')
  const day = [date.getFullYear(), date.getMonth() + 1, date.getDate()].map(twoDigits).join('-')
  return [day, [date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(':')]
}

/** Returns the value of a field of a date and a time in the zone that is shown. @param at a time in UTC, or nothing */
export function inZone(at) {
  return at && !Number.isNaN(Date.parse(at)) ? partsOf(new Date(at)).join('T') : ''
}

/** Returns a time in UTC. @param value that of a field in the zone that is shown */
export function timeIn(value) {
  if (!value) return ''
  const date = new Date(shownZone === 'UTC' ? `${value}Z` : value)
  return Number.isNaN(date.getTime()) ? '' : date.toISOString()
}

/** Returns the start of a text that is longer than a row of a list shows. */
export function cut(text, length = 160) {
  return text.length > length ? `${text.slice(0, length)}…` : text
}

/** Returns the commands that act on an entry, each with a button that copies it. */
export function commandsOf({ commands = [] }) {
  return commands.map((command) => block(command, 'command'))
}
