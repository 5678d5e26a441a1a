import { createCipheriv, createDecipheriv, createHash } from 'node:crypto'
import { failField } from '../errors/failure.ts'
import { deriveKey } from '../secrets/derived-key.ts'
import type { ListQuery } from './list-query.ts'

/** Where a page begins, as a place that belongs to it if an item has it, and in which direction it is read. */
export interface Position {
  direction: 'next' | 'prev'
  start: string
  /** next: where the page before begins. prev: where this page ends, where that is known. */
  bound: string | undefined
  /** The largest id that belongs to the walk: what was inserted after its first page has a larger one. */
  horizon: string
  /** How many matches are still to be passed over: what is left of an offset. */
  skip: number
}

/** Makes cursors opaque and authentic: one that was changed, or made for another list or tenant, does not open. */
export interface CursorSeal {
  seal(position: Position, walk: string): string
  /** @throws VALIDATION.cursor.invalid */
  open(cursor: string, walk: string): Position
}

/** What a cursor belongs to: the operation, the tenant, the filters and the sort, but not the page size. */
export function walkOf(operation: string, tenant: string, query: ListQuery): string {
  const { filters, search, deleted, sortedBy = null, descending } = query
  const sorted = filters.map(({ field, operator, values }) => [field, operator, ...values]).sort()
  const text = JSON.stringify([operation, tenant, sorted, search ?? null, deleted, sortedBy, descending])
  return createHash('sha256').update(text).digest('base64url')
}

const cipher = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16

/**
 * @param secret the deployment's secret; a key of its own is derived from it
 * @param randomBytes for nonces
 */
export function cursorSeal(secret: Uint8Array, randomBytes: (length: number) => Uint8Array): CursorSeal {
  const key = deriveKey(secret, 'list cursors v1')
  return {
    seal({ direction, start, bound, horizon, skip }, walk) {
      const nonce = randomBytes(nonceBytes)
      const sealing = createCipheriv(cipher, key, nonce, { authTagLength: tagBytes }).setAAD(
        Buffer.from(walk),
      )
      const text = JSON.stringify([direction, start, bound ?? null, horizon, skip])
      const sealed = Buffer.concat([sealing.update(text), sealing.final()])
      return Buffer.concat([nonce, sealed, sealing.getAuthTag()]).toString('base64url')
    },
    open(cursor, walk) {
      try {
        const bytes = Buffer.from(cursor, 'base64url')
        if (bytes.toString('base64url') !== cursor) throw new Error('not the canonical form')
        const opening = createDecipheriv(cipher, key, bytes.subarray(0, nonceBytes), {
          authTagLength: tagBytes,
        })
        opening.setAAD(Buffer.from(walk)).setAuthTag(bytes.subarray(-tagBytes))
        const text = Buffer.concat([opening.update(bytes.subarray(nonceBytes, -tagBytes)), opening.final()])
        const [direction, start, bound, horizon, skip] = JSON.parse(text.toString())
        return { direction, start, bound: bound ?? undefined, horizon, skip }
      } catch {
        throw failField('VALIDATION.cursor.invalid', 'cursor', { reason: 'invalid' })
      }
    },
  }
}
