import { createHash, type KeyObject } from 'node:crypto'
import { failField } from '../base/failure.ts'
import { seal, unseal } from '../base/secrets.ts'
import type { ListQuery } from './list-query.ts'

/** The position of a page: its first sort key (inclusive) and the direction in which it is read. */
export interface Position {
  direction: 'next' | 'prev'
  start: string
  /** next: the first key of the page before. prev: the last key of this page in reading direction, if known. */
  bound: string | undefined
  /** The upper bound of the snapshot: items that are inserted after the first page have larger ids. */
  snapshotBound: string
  /** The number of matches still to skip: the rest of an offset. */
  skip: number
}

/** Encrypts and authenticates cursors. Rejects a cursor that was changed or issued for another list or tenant. */
interface CursorSeal {
  seal(position: Position, session: string): string
  /** @throws VALIDATION.cursor.invalid */
  open(cursor: string, session: string): Position
}

/** Returns a hash of the operation, tenant, filters and sort of a pagination session. The page size may change. */
export function sessionHash(operation: string, tenant: string, query: ListQuery): string {
  const { filters, search, deleted, sortedBy = null, descending } = query
  const sorted = filters.map(({ field, operator, values }) => [field, operator, ...values]).sort()
  const text = JSON.stringify([operation, tenant, sorted, search ?? null, deleted, sortedBy, descending])
  return createHash('sha256').update(text).digest('base64url')
}

/**
 * @param key the key of cursors
 * @param randomBytes for nonces
 */
export function cursorSeal(key: KeyObject, randomBytes: (length: number) => Uint8Array): CursorSeal {
  return {
    seal({ direction, start, bound, snapshotBound, skip }, session) {
      const text = JSON.stringify([direction, start, bound ?? null, snapshotBound, skip])
      return seal(key, text, session, randomBytes)
    },
    open(cursor, session) {
      try {
        const [direction, start, bound, snapshotBound, skip] = JSON.parse(unseal(key, cursor, session))
        return { direction, start, bound: bound ?? undefined, snapshotBound, skip }
      } catch {
        throw failField('VALIDATION.cursor.invalid', 'cursor', { reason: 'invalid', actual: cursor.length })
      }
    },
  }
}
