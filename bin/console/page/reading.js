// What the page asks of its source, and what that took.

/** What the source can do. Set once, before anything is shown. */
export const about = { stack: undefined, readable: {}, live: false, actions: [] }

const storageKey = 'console-token'
const ownToken = document.querySelector('meta[name=console-token]').content

/**
 * Takes the token from the link that opened the page, and removes it from the address. A fragment is sent to no server, and what
 * is stored for an origin is not sent to other ports of this machine, as a cookie would be.
 */
export function takeToken() {
  const [, token] = /^#token=([\w-]{43})$/.exec(location.hash.split('&')[0]) ?? []
  if (!token) return
  localStorage.setItem(storageKey, token)
  history.replaceState(null, '', `${location.pathname}#${location.hash.split('&').slice(1).join('&')}`)
}

async function ask(path, options = {}) {
  const token = ownToken || localStorage.getItem(storageKey) || ''
  const response = await fetch(`console/${path}`, {
    ...options,
    headers: { 'X-Console-Token': token },
  }).catch(() => {
    throw new Error('The console does not answer: the command that serves it has ended.')
  })
  if (response.ok) return response
  if (response.status === 403)
    throw new Error('This page has no valid token: open the link that the command has printed.')
  throw new Error((await response.text()) || `It answered ${response.status}.`)
}

export async function askAbout() {
  Object.assign(about, await (await ask('about')).json())
}

/** Reads entries of a kind. @returns the entries, whether they are all, and what it took */
export async function read(question, signal) {
  return (await ask(`read?${queryOf(question)}`, { signal })).json()
}

/** Finds everything about one thing. */
export async function findAll(question, signal) {
  return (await ask(`find?${queryOf(question)}`, { signal })).json()
}

/** Sends an action to the local run. @returns undefined, or why it failed */
export async function act(action, body) {
  return ask(action, { method: 'POST', body }).then(
    () => undefined,
    ({ message }) => message,
  )
}

function queryOf(question) {
  return new URLSearchParams(
    Object.entries(question).filter(([, value]) => value !== undefined && value !== ''),
  ).toString()
}

/** Returns what a reading took, in words. */
export function costOf({ units, calls, milliseconds }) {
  const parts = [
    units > 0 && `${units} read units`,
    calls > 0 && `${calls} ${calls === 1 ? 'call' : 'calls'}`,
    `${(milliseconds / 1000).toFixed(1)} s`,
  ]
  return parts.filter(Boolean).join(', ')
}
