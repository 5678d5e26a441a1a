import { createHash } from 'node:crypto'

/** The hash of a payload, the same for the same content whatever the order of its keys. */
export function fingerprint(payload: unknown): string {
  return createHash('sha256').update(canonical(payload)).digest('base64url')
}

/** JSON with sorted keys. Payloads come with bounded depth, so recursion is safe. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, one]) => `${JSON.stringify(key)}:${canonical(one)}`).join(',')}}`
}
