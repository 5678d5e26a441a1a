import { timingSafeEqual } from 'node:crypto'
import type { Person } from '../identity/person.ts'
import { keyedHash } from '../platform/secrets/derived-key.ts'
import type { Item, Key } from '../platform/table/keys.ts'
import type { Settings } from '../settings/register.ts'

/** How long a code may be verified after it was requested (contract, 'Limits'). */
export const validMilliseconds = 5 * 60_000

/** The latest code of an e-mail address, and what was tried lately: one item, so that a verification is one write. */
export interface CodeItem extends Key {
  /** `none` where something was tried before a code was asked for. */
  state: 'open' | 'used' | 'none'
  message_id: string
  code_hash: string
  /** Milliseconds since 1970; the last at which it may be verified. */
  valid_until: number
  /** When wrong codes were tried against a code that was open, in milliseconds since 1970. */
  tries: number[]
  version: number
  /** Seconds since 1970. */
  expires_at: number
}

export function codeKey(emailHash: string): Key {
  return { pk: `otp#${emailHash}`, sk: 'code' }
}

/** What an item under a code's key is; undefined where there was nothing lately. */
export function asCode(item: Item | undefined): CodeItem | undefined {
  return item as CodeItem | undefined
}

/** Each digit as likely as any other: a byte from 250 on is not used. */
export function newDigits(count: number, randomBytes: (length: number) => Uint8Array): string {
  let digits = ''
  while (digits.length < count) {
    const fair = Array.from(randomBytes(2 * count)).filter((byte) => byte < 250)
    digits += fair.map((byte) => byte % 10).join('')
  }
  return digits.slice(0, count)
}

/** What is stored of a code: bound to its address and message, so that it is of no use for another. */
export function codeHash(
  key: Uint8Array,
  { email_hash }: Person,
  issued: { message_id: string; code: string },
): string {
  return keyedHash(key, email_hash, issued.message_id, issued.code)
}

/** A new code in the place of the one before. What was tried against that counts on. */
export function issued(
  before: CodeItem | undefined,
  { email_hash }: Person,
  code: Pick<CodeItem, 'message_id' | 'code_hash'>,
  now: number,
): CodeItem {
  return {
    ...codeKey(email_hash),
    ...code,
    state: 'open',
    valid_until: now + validMilliseconds,
    tries: recentTries(before, now),
    ...kept(before, now),
  }
}

/**
 * Whether a code is the right one, and what is to be stored then: a right one is used up, and a wrong one counts. Once
 * as many wrong ones as allowed were tried within a code's life, however many codes were sent meanwhile, nothing is right.
 * @param hash of the code that was given
 */
export function tried(
  before: CodeItem | undefined,
  { email_hash }: Person,
  hash: string,
  { maxAttempts }: Settings['otp.code'],
  now: number,
): { success: boolean; after: CodeItem } {
  const tries = recentTries(before, now)
  const open = before?.state === 'open' && now <= before.valid_until && tries.length < maxAttempts
  // Compared in any case, so that it takes as long whether or not there is a code.
  const equal = timingSafeEqual(Buffer.from(hash), Buffer.from(before?.code_hash || '-'.repeat(hash.length)))
  const success = open && equal
  const nothing = { message_id: '', code_hash: '', valid_until: 0, state: 'none' as const }
  const after: CodeItem = {
    ...nothing,
    ...before,
    ...codeKey(email_hash),
    ...(success && { state: 'used' as const }),
    tries: open && !equal ? [...tries, now] : tries,
    ...kept(before, now),
  }
  return { success, after }
}

function recentTries(before: CodeItem | undefined, now: number): number[] {
  return (before?.tries ?? []).filter((at) => at > now - validMilliseconds)
}

/** It is forgotten once neither its code nor what was tried says anything. */
function kept(before: CodeItem | undefined, now: number): Pick<CodeItem, 'version' | 'expires_at'> {
  return {
    version: (before?.version ?? 0) + 1,
    expires_at: Math.ceil((now + 2 * validMilliseconds) / 1000),
  }
}
