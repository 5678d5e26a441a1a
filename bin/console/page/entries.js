// The entries that the page has received.

/** How many entries of a kind are kept, until older ones are read. */
export const limit = 500

/** By kind and id, in the order in which they arrived. */
const kept = new Map()
/** The kinds of which older entries were read: all that arrive are kept. */
const unlimited = new Set()

/** Returns the entries of a kind, oldest first. */
export function all(kind) {
  return [...(kept.get(kind)?.values() ?? [])]
}

/** Returns the entries of a kind, newest first. */
export function newestFirst(kind) {
  return all(kind)
    .reverse()
    .sort((one, other) => timeOf(other) - timeOf(one))
}

/** Returns the time of an entry in milliseconds since 1970. */
export function timeOf({ at, occurred_at, updated_at, created_at }) {
  const time = at ?? occurred_at ?? updated_at ?? created_at ?? 0
  return typeof time === 'number' ? time : Date.parse(time)
}

export function find(kind, id) {
  return kept.get(kind)?.get(id)
}

export function ofCorrelation(kind, id) {
  return all(kind).filter(({ correlation_id }) => correlation_id === id)
}

/** Removes the entries of a kind, or all. */
export function clear(kind) {
  if (kind === undefined) {
    kept.clear()
    unlimited.clear()
  } else kept.delete(kind)
}

/** Keeps all entries of a kind from now on. */
export function keepAll(kind) {
  unlimited.add(kind)
}

/** @returns whether there may be older entries than those that are kept */
export function isLimited(kind) {
  return !unlimited.has(kind) && (kept.get(kind)?.size ?? 0) >= limit
}

/**
 * Adds or replaces entries.
 * @returns the latest version of all that have changed: also of requests whose tenant a log line names, and of deliveries
 * of a changed subscriber
 */
export function add(added) {
  const changed = [...added]
  for (const entry of added) {
    const ofKind = kept.get(entry.kind) ?? new Map()
    kept.set(entry.kind, ofKind.set(entry.id, entry))
    if (ofKind.size > limit && !unlimited.has(entry.kind)) ofKind.delete(ofKind.keys().next().value)
    if (entry.kind === 'request') nameTenant(entry, ofCorrelation('log', entry.correlation_id))
    else if (entry.kind === 'subscriber')
      changed.push(...all('delivery').filter(({ subscriber_id }) => subscriber_id === entry.id))
    else if (entry.kind === 'log' && entry.correlation_id && tenantOf(entry))
      changed.push(
        ...ofCorrelation('request', entry.correlation_id).filter((one) => nameTenant(one, [entry])),
      )
  }
  return [...new Set(changed.map(({ kind, id }) => find(kind, id)))].filter(Boolean)
}

/** Only the log knows the tenant of a request. @returns whether it was unknown before */
function nameTenant(request, lines) {
  const tenant = request.tenant ? undefined : lines.map(tenantOf).find(Boolean)
  if (tenant) request.tenant = tenant
  return Boolean(tenant)
}

export function tenantOf({ tenant, tenant_id, data, fields }) {
  return tenant ?? tenant_id ?? data?.tenant_id ?? fields?.tenant
}

/** Returns the correlation id of an entry. A refund has that of the audit record of its request. */
export function correlationOf(entry) {
  if (!entry || entry.correlation_id) return entry?.correlation_id
  if (entry.kind !== 'refund') return undefined
  return all('audit').find(({ action, target }) => action === 'refund' && target === `refund/${entry.id}`)
    ?.correlation_id
}

/** Returns the entries of a kind that have a correlation id, or are about a refund of it. Newest last. */
export function related(kind, keys) {
  return all(kind)
    .filter((entry) => keysOf(entry).some((key) => keys.has(key)))
    .sort((one, other) => timeOf(one) - timeOf(other))
}

/** The kinds of entries that are about refunds. */
const aboutRefunds = ['request', 'event', 'audit', 'refund', 'payout', 'ledger']

/** Returns the keys of everything that belongs to an entry or a correlation id: the id itself, and the refunds of it. */
export function keysAround(entry, correlation) {
  const keys = new Set(entry ? keysOf(entry) : [])
  if (correlation) keys.add(`correlation ${correlation}`)
  // An audit record names the refund, the refund its payout.
  for (let size = 0; size < keys.size; ) {
    size = keys.size
    for (const kind of aboutRefunds)
      for (const one of all(kind)) {
        const own = keysOf(one)
        if (own.some((key) => keys.has(key)))
          for (const key of own) if (!key.startsWith('correlation ')) keys.add(key)
      }
  }
  return keys
}

const knownKeys = new WeakMap()

/** Returns what an entry has in common with others: its correlation id, its refund, and the provider's refund. */
export function keysOf(entry) {
  const known = knownKeys.get(entry)
  if (known) return known
  const { correlation_id, refund, payout } = { ...entry, ...moneyOf(entry) }
  const keys = [
    correlation_id && `correlation ${correlation_id}`,
    refund && `refund ${refund}`,
    payout && `payout ${payout}`,
  ].filter(Boolean)
  knownKeys.set(entry, keys)
  return keys
}

/** Returns our refund and the provider's refund that an entry is about. */
function moneyOf(entry) {
  const { kind, id, refund_id, provider_refund_id, target, type, data, path, request, response } = entry
  if (kind === 'refund') return { refund: id, payout: provider_refund_id }
  if (kind === 'payout') return { refund: refund_id, payout: id }
  if (kind === 'ledger') return { refund: refund_id, payout: provider_refund_id }
  if (kind === 'audit') return { refund: /^refund\/(.+)$/.exec(target ?? '')?.[1] }
  if (kind === 'event') return { refund: type?.startsWith('refund.') ? data?.id : undefined }
  if (kind !== 'request') return {}
  if (/\/webhooks\/stripe/.test(path))
    return { payout: idIn(request?.body, ({ data: of }) => of?.object?.id) }
  if (!/\/refunds\b/.test(path)) return {}
  return { refund: /\/refunds\/([\w-]+)/.exec(path)?.[1] ?? idIn(response?.body, (body) => body?.id) }
}

function idIn(body, read) {
  try {
    const id = read(JSON.parse(body))
    return typeof id === 'string' ? id : undefined
  } catch {
    return undefined
  }
}
