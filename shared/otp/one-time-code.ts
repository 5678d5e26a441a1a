import { type KeyObject, timingSafeEqual } from 'node:crypto'
import type { ErrorCode } from '../error-catalog.ts'
import type { Person } from '../identity/person.ts'
import { keyedHash } from '../platform/base/secrets.ts'
import type { Item, Key } from '../platform/table/keys.ts'
import { create, replace, type Table, type Write } from '../platform/table/table.ts'
import type { Settings } from '../settings/register.ts'

/** How long a code is valid after the request. */
export const validMilliseconds = 5 * 60_000

const dayMilliseconds = 24 * 3600_000
/** The number of remembered sources per address, the latest first. */
const maxKnownSources = 20

/** A source that has verified a code of the address. */
export interface KnownSource {
  /** A keyed hash. */
  source: string
  /** Its last success, in milliseconds since 1970. */
  at: number
  /** The wrong attempts of this source, as in `CodeItem`. */
  tries: number[]
}

/** The latest code of an e-mail address and its recent wrong attempts: one item, so a verification is one write. */
export interface CodeItem extends Key {
  /** `none` if a code was submitted before one was requested. */
  state: 'open' | 'used' | 'none'
  message_id: string
  code_hash: string
  /** The last valid moment, in milliseconds since 1970. */
  valid_until: number
  /** Wrong attempts by unknown sources while a code was open, in milliseconds since 1970. */
  tries: number[]
  /** Absent in items of earlier versions. */
  known?: KnownSource[]
  version: number
  /** Seconds since 1970. */
  expires_at: number
}

export function codeKey(emailHash: string): Key {
  return { pk: `otp#${emailHash}`, sk: 'code' }
}

/** Casts an item under a code's key; undefined if there is none. */
export function asCode(item: Item | undefined): CodeItem | undefined {
  return item as CodeItem | undefined
}

/** Generates uniformly distributed digits: bytes from 250 on are skipped, because they would favor some digits. */
export function newDigits(count: number, randomBytes: (length: number) => Uint8Array): string {
  let digits = ''
  while (digits.length < count) {
    const fair = Array.from(randomBytes(2 * count)).filter((byte) => byte < 250)
    digits += fair.map((byte) => byte % 10).join('')
  }
  return digits.slice(0, count)
}

/** Returns the stored hash of a code. It includes address and message, so it matches no other ones. */
export function codeHash(
  key: KeyObject,
  { email_hash }: Person,
  message: { message_id: string; code: string },
): string {
  return keyedHash(key, email_hash, message.message_id, message.code)
}

/** One attempt: its source as a keyed hash, its time and its settings. */
export interface Attempt {
  source: string
  now: number
  settings: Pick<Settings, 'otp.code' | 'otp.dailyWrongAttempts'>
}

/**
 * Returns the seconds until the source may try again; undefined if it may now. Each known source has its own count
 * and all others share one, so attackers cannot use up the attempts of the owner's sources.
 */
export function secondsUntilAllowed(before: CodeItem | undefined, attempt: Attempt): number | undefined {
  const { limit } = attempt.settings['otp.dailyWrongAttempts']
  const first = triesOf(before, attempt).at(-limit)
  return first === undefined ? undefined : Math.ceil((first + dayMilliseconds - attempt.now) / 1000)
}

/** Replaces the code of an address. Wrong attempts against earlier codes still count. */
export function issueCode(
  before: CodeItem | undefined,
  { email_hash }: Person,
  code: Pick<CodeItem, 'message_id' | 'code_hash'>,
  attempt: Attempt,
): CodeItem {
  return {
    ...codeKey(email_hash),
    ...code,
    state: 'open',
    valid_until: attempt.now + validMilliseconds,
    ...withExpiry(
      before,
      { tries: sharedTries(before, attempt), known: knownSources(before, attempt) },
      attempt,
    ),
  }
}

/**
 * Decides whether a code is right and returns the item to store: a right code is used up, and a wrong one counts.
 * After the allowed number of wrong codes within the life of a code, every code is rejected, however many were sent
 * in between.
 * @param hash of the submitted code
 */
export function checkCode(
  before: CodeItem | undefined,
  { email_hash }: Person,
  hash: string,
  attempt: Attempt,
): { success: boolean; after: CodeItem } {
  const { now, settings } = attempt
  const recent = triesOf(before, attempt).filter((at) => at > now - validMilliseconds)
  const attemptsLeft = recent.length < settings['otp.code'].maxAttempts
  const open = before?.state === 'open' && now <= before.valid_until && attemptsLeft
  // Always compares, so the duration does not reveal whether a code exists.
  const equal = timingSafeEqual(Buffer.from(hash), Buffer.from(before?.code_hash || '-'.repeat(hash.length)))
  const success = open && equal
  const nothing = { message_id: '', code_hash: '', valid_until: 0, state: 'none' as const }
  const after: CodeItem = {
    ...nothing,
    ...before,
    ...codeKey(email_hash),
    ...(success && { state: 'used' as const }),
    ...withExpiry(before, countAttempt(before, open && !equal, success, attempt), attempt),
  }
  return { success, after }
}

type AttemptCounts = Required<Pick<CodeItem, 'tries' | 'known'>>

function countAttempt(
  before: CodeItem | undefined,
  wrong: boolean,
  success: boolean,
  attempt: Attempt,
): AttemptCounts {
  const { source, now } = attempt
  const known = knownSources(before, attempt)
  const own = known.find((one) => one.source === source)
  const others = known.filter((one) => one !== own)
  const tries = [...triesOf(before, attempt), ...(wrong ? [now] : [])]
  if (!own && !success) return { tries, known }
  const latest = { source, at: success ? now : (own?.at ?? now), tries: own ? tries : [] }
  return { tries: sharedTries(before, attempt), known: [latest, ...others].slice(0, maxKnownSources) }
}

/** Returns the wrong attempts of the last 24 hours that count for a source. */
function triesOf(before: CodeItem | undefined, attempt: Attempt): number[] {
  const own = knownSources(before, attempt).find(({ source }) => source === attempt.source)
  return own ? own.tries : sharedTries(before, attempt)
}

function sharedTries(before: CodeItem | undefined, { now }: Attempt): number[] {
  return withinADay(before?.tries, now)
}

function knownSources(before: CodeItem | undefined, { now, settings }: Attempt): KnownSource[] {
  const lasting = settings['otp.dailyWrongAttempts'].knownSourceDays * dayMilliseconds
  return (before?.known ?? [])
    .filter(({ at }) => at > now - lasting)
    .map((one) => ({ ...one, tries: withinADay(one.tries, now) }))
}

function withinADay(times: readonly number[] = [], now: number): number[] {
  return times.filter((at) => at > now - dayMilliseconds)
}

/** Sets the expiry to the time when the code, its attempts and its known sources no longer matter. */
function withExpiry(
  before: CodeItem | undefined,
  { tries, known }: AttemptCounts,
  { now, settings }: Attempt,
): AttemptCounts & Pick<CodeItem, 'version' | 'expires_at'> {
  const lasting = settings['otp.dailyWrongAttempts'].knownSourceDays * dayMilliseconds
  const attempts = [...tries, ...known.flatMap((one) => one.tries)]
  const until = [
    now + 2 * validMilliseconds,
    ...attempts.map((at) => at + dayMilliseconds),
    ...known.map(({ at }) => at + lasting),
  ]
  return {
    tries,
    known,
    version: (before?.version ?? 0) + 1,
    expires_at: Math.ceil(Math.max(...until) / 1000),
  }
}

export async function findCode(table: Table, { email_hash }: Person): Promise<CodeItem | undefined> {
  return asCode(await table.get(codeKey(email_hash)))
}

/** Replaces the item if it has not changed since it was read. */
export function replaceCode(before: CodeItem | undefined, after: CodeItem, onFailure: ErrorCode): Write {
  const item = after as CodeItem & Item
  return before ? replace(item, { version: before.version }, onFailure) : create(item, onFailure)
}
