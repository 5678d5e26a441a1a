import { createHash } from 'node:crypto'

/** Derives a UUID from a name, deterministically (RFC 9562 5.8, with SHA-256). */
export function uuidV8(name: string): string {
  const hex = createHash('sha256').update(name).digest('hex')
  const variant = ((Number.parseInt(hex.slice(16, 18), 16) & 0x3f) | 0x80).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(18, 20)}-${hex.slice(20, 32)}`
}
