import type { Person } from '../identity/person.ts'
import { fail } from '../platform/base/failure.ts'
import { keyedHash } from '../platform/base/secrets.ts'
import type { RequestContext } from '../platform/request/context.ts'
import { type Attempt, type CodeItem, secondsUntilAllowed } from './one-time-code.ts'

/**
 * Returns the hash of a request's source. It includes the address, so the same source has another hash for another
 * address.
 */
export async function sourceHash(
  { email_hash }: Person,
  { source, derivedKey }: RequestContext,
): Promise<string> {
  return keyedHash(await derivedKey('one-time code sources v1'), email_hash, source)
}

/** @throws RATE_LIMIT.exceeded after too many wrong codes for the address (setting otp.dailyWrongAttempts) */
export function attemptOf(
  before: CodeItem | undefined,
  source: string,
  { now, settings }: RequestContext,
): Attempt {
  const attempt = { source, now: now(), settings }
  const retryAfterSeconds = secondsUntilAllowed(before, attempt)
  if (retryAfterSeconds !== undefined) throw fail('RATE_LIMIT.exceeded', { retryAfterSeconds })
  return attempt
}
