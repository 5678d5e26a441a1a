// The entries that the page has received.

/** How many entries of a kind are kept and shown. */
export const limit = 500

/** By kind and id, oldest first. */
const kept = new Map()

/** Returns the entries of a kind, oldest first. */
export function all(kind) {
  return [...(kept.get(kind)?.values() ?? [])]
}

export function find(kind, id) {
  return kept.get(kind)?.get(id)
}

export function ofCorrelation(kind, id) {
  return all(kind).filter(({ correlation_id }) => correlation_id === id)
}

export function clear() {
  kept.clear()
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
    if (ofKind.size > limit) ofKind.delete(ofKind.keys().next().value)
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
