import type { ErrorCode } from '../error-catalog.ts'
import type { Person } from '../identity/person.ts'
import type { Item, Key } from '../platform/table/keys.ts'
import { create, replace, type Table, type Write } from '../platform/table/table.ts'

/** How long a code is valid after each request that mails it. */
export const validMilliseconds = 5 * 60_000

/** The time of an action of a source. */
export interface SourceTime {
  /** A keyed hash. */
  source: string
  /** Milliseconds since 1970. */
  at: number
}

/** A code that may be used. Its digits are derived from a key, its salt and the address, and stored nowhere. */
export interface OpenCode {
  /** The id of the message that mailed it first. */
  id: string
  /** Random, and in no other item. */
  salt: string
  /** The number of its digits, which a later setting does not change. */
  digits: number
  /** Milliseconds since 1970. */
  issued_at: number
  /** The sources that it was mailed for, each with its latest request. */
  requests: SourceTime[]
  /** The sources that were mailed a later code. */
  replaced_for: string[]
  /** The number of wrong attempts while it was open, by known and by other sources. */
  wrong: { known: number; unknown: number }
}

/** A source that has verified a code of the address, with the time of its last success. */
export interface KnownSource extends SourceTime {
  /** The times of its wrong attempts, in milliseconds since 1970. */
  tries: number[]
}

/** The codes of an e-mail address and its recent wrong attempts: one item, so a verification is one write. */
export interface CodeItem extends Key {
  /** The tenant of its events. */
  tenant_id: string
  /** The oldest first. */
  codes: OpenCode[]
  /** Wrong attempts by unknown sources while a code was open. */
  tries: SourceTime[]
  /** The times of mails for unknown sources, in milliseconds since 1970. */
  mails: number[]
  known: KnownSource[]
  version: number
  /** Seconds since 1970. */
  expires_at: number
}

export function codeKey(emailHash: string): Key {
  return { pk: `otp#${emailHash}`, sk: 'code' }
}

/** Casts an item under a code's key; undefined if there is none. */
export function asCodeItem(item: Item | undefined): CodeItem | undefined {
  return item as CodeItem | undefined
}

export async function findCode(table: Table, { email_hash }: Person): Promise<CodeItem | undefined> {
  return asCodeItem(await table.get(codeKey(email_hash)))
}

/** Replaces the item if it has not changed since it was read. */
export function replaceCode(before: CodeItem | undefined, after: CodeItem, onFailure: ErrorCode): Write {
  const item: Item = { ...after }
  return before ? replace(item, { version: before.version }, onFailure) : create(item, onFailure)
}
