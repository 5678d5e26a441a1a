import type { Person } from '../identity/person.ts'
import { dayMilliseconds } from '../platform/base/clock.ts'
import { fail } from '../platform/base/failure.ts'
import { keyedHash } from '../platform/base/secrets.ts'
import type { RequestContext } from '../platform/request/context.ts'
import type { Settings } from '../settings/register.ts'
import { type CodeItem, type KnownSource, type SourceTime, validMilliseconds } from './code-item.ts'

/** The number of remembered sources per address, the latest success first. */
const maxKnownSources = 20

/** One request or verification: its source as a keyed hash, its time and its settings. */
export interface CodeAttempt {
  source: string
  now: number
  settings: Pick<
    Settings,
    'auth.publicTenant' | 'otp.code' | 'otp.dailyWrongAttempts' | 'otp.mailsPerAddress'
  >
}

/**
 * Returns the hash of a request's source. It includes the address, so the same source has another hash for another
 * address.
 */
export async function sourceHash(
  { email_hash }: Person,
  { source, derivedKey }: Pick<RequestContext, 'source' | 'derivedKey'>,
): Promise<string> {
  return keyedHash(await derivedKey('hashes'), 'source of codes', email_hash, source)
}

/** @throws RATE_LIMIT.exceeded after too many wrong codes for the address (setting otp.dailyWrongAttempts) */
export function codeAttempt(
  before: CodeItem | undefined,
  source: string,
  { now, settings }: Pick<RequestContext, 'now' | 'settings'>,
): CodeAttempt {
  const attempt = { source, now: now(), settings }
  const { limit } = settings['otp.dailyWrongAttempts']
  requireRoom(triesOf(before, attempt), limit, dayMilliseconds, attempt)
  return attempt
}

/** The counts of an address, which outlast its codes. */
export type Counts = Pick<CodeItem, 'tries' | 'known' | 'mails'>

/** Returns the counts that still matter. */
function recentCounts(before: CodeItem | undefined, { now, settings }: CodeAttempt): Counts {
  const { windowSeconds } = settings['otp.mailsPerAddress']
  const { knownSourceDays } = settings['otp.dailyWrongAttempts']
  const yesterday = now - dayMilliseconds
  return {
    tries: (before?.tries ?? []).filter(({ at }) => at > yesterday),
    mails: (before?.mails ?? []).filter((at) => at > now - windowSeconds * 1000),
    known: (before?.known ?? [])
      .filter(({ at }) => at > now - knownSourceDays * dayMilliseconds)
      .map((one) => ({ ...one, tries: one.tries.filter((at) => at > yesterday) })),
  }
}

/** Returns whether a source has succeeded for the address before. */
export function isKnownSource(before: CodeItem | undefined, attempt: CodeAttempt): boolean {
  return knownSource(before, attempt) !== undefined
}

/**
 * Counts a mail. All unknown sources share one count; the route's own limit is enough for a known one.
 * @throws RATE_LIMIT.exceeded after too many mails for unknown sources (setting otp.mailsPerAddress)
 */
export function countMail(before: CodeItem | undefined, attempt: CodeAttempt): Counts {
  const counts = recentCounts(before, attempt)
  if (isKnownSource(before, attempt)) return counts
  const { limit, windowSeconds } = attempt.settings['otp.mailsPerAddress']
  requireRoom(counts.mails, limit, windowSeconds * 1000, attempt)
  return { ...counts, mails: [...counts.mails, attempt.now] }
}

/** Returns whether a source may try now: its wrong attempts of the last five minutes count, whatever codes they met. */
export function hasAttemptsLeft(before: CodeItem | undefined, attempt: CodeAttempt): boolean {
  const { source, now, settings } = attempt
  const { tries } = recentCounts(before, attempt)
  const own = knownSource(before, attempt)?.tries ?? timesOf(tries.filter((one) => one.source === source))
  return own.filter((at) => at > now - validMilliseconds).length < settings['otp.code'].maxAttempts
}

/** Counts wrong attempts. Each known source has its own count, which strangers cannot use up. */
export function countWrong(before: CodeItem | undefined, times: number, attempt: CodeAttempt): Counts {
  const { source, now } = attempt
  const counts = recentCounts(before, attempt)
  const own = knownSource(before, attempt)
  if (!own) {
    const wrong: SourceTime[] = Array(times).fill({ source, at: now })
    return { ...counts, tries: [...counts.tries, ...wrong] }
  }
  const tries = [...own.tries, ...Array<number>(times).fill(now)]
  return { ...counts, known: counts.known.map((one) => (one.source === source ? { ...one, tries } : one)) }
}

/** Makes the source a known one. */
export function countSuccess(before: CodeItem | undefined, attempt: CodeAttempt): Counts {
  const { source, now } = attempt
  const counts = recentCounts(before, attempt)
  const others = counts.known.filter((one) => one.source !== source)
  const tries = knownSource(before, attempt)?.tries ?? []
  return { ...counts, known: [{ source, at: now, tries }, ...others].slice(0, maxKnownSources) }
}

/** Returns the time until which the counts matter, in milliseconds since 1970. */
export function countsEndAt({ tries, known, mails }: Counts, { now, settings }: CodeAttempt): number {
  const { knownSourceDays } = settings['otp.dailyWrongAttempts']
  const { windowSeconds } = settings['otp.mailsPerAddress']
  return Math.max(
    now,
    ...[...timesOf(tries), ...known.flatMap((one) => one.tries)].map((at) => at + dayMilliseconds),
    ...timesOf(known).map((at) => at + knownSourceDays * dayMilliseconds),
    ...mails.map((at) => at + windowSeconds * 1000),
  )
}

function knownSource(before: CodeItem | undefined, attempt: CodeAttempt): KnownSource | undefined {
  return recentCounts(before, attempt).known.find(({ source }) => source === attempt.source)
}

/** Returns the times of the wrong attempts of the last 24 hours that count for a source: its own, or the shared ones. */
function triesOf(before: CodeItem | undefined, attempt: CodeAttempt): number[] {
  return knownSource(before, attempt)?.tries ?? timesOf(recentCounts(before, attempt).tries)
}

function timesOf(all: readonly Pick<SourceTime, 'at'>[]): number[] {
  return all.map(({ at }) => at)
}

/** @throws RATE_LIMIT.exceeded if the window already holds as many times as its limit */
function requireRoom(
  times: readonly number[],
  limit: number,
  windowMilliseconds: number,
  { now }: CodeAttempt,
): void {
  const first = times.at(-limit)
  if (first === undefined) return
  const retryAfterSeconds = Math.ceil((first + windowMilliseconds - now) / 1000)
  throw fail('RATE_LIMIT.exceeded', { retryAfterSeconds })
}
