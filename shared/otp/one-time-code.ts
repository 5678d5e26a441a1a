import type { Person } from '../identity/person.ts'
import {
  type CodeAttempt,
  type Counts,
  countMail,
  countSuccess,
  countsEndAt,
  countWrong,
  hasAttemptsLeft,
  isKnownSource,
} from './attempt.ts'
import { type CodeItem, codeKey, type OpenCode, validMilliseconds } from './code-item.ts'

/**
 * The rules of the codes of an address. A code is open for five minutes after each request that mails it, until it is
 * used or spent. Nobody can end a code that was mailed for another source:
 *
 * | A source requests a code                         | It is mailed                                               |
 * |--------------------------------------------------|------------------------------------------------------------|
 * | and no other source requested an open code       | a new code, which replaces the one that was mailed for it  |
 * | and another source requested an open code        | the same code                                              |
 * | and that code is older than ten minutes or spent | a new code; the other one stays open for the other sources |
 *
 * | A source submits a code                          | Effect                                                     |
 * |--------------------------------------------------|------------------------------------------------------------|
 * | that is open                                     | success; the code is used                                  |
 * | that is wrong                                    | counts once for each open code that it could have been     |
 * | that is older than the one it was mailed last    | counts as wrong                                            |
 * | after its five wrong ones in five minutes        | rejected; other sources are not affected                   |
 * | after half of the wrong ones by unknown sources  | rejected for unknown sources: the code is spent for them   |
 * | after all wrong ones                             | rejected: the code is spent                                |
 */

/** The longest time that a code is open: a request mails no code that would be open for longer. */
const maxMilliseconds = 15 * 60_000

/** The usual maximum number of open codes. More are possible only if codes were spent. */
const usualCodes = 2

/** Returns the codes that some source may still use. */
export function openCodes(before: CodeItem | undefined, now: number): OpenCode[] {
  return withRequests(before, ({ at }) => now <= at + validMilliseconds)
}

/**
 * Decides which code is mailed for a request.
 * @param fresh the id and the salt of the code if it is a new one
 * @throws RATE_LIMIT.exceeded after too many mails to the address
 */
export function requestedCode(
  before: CodeItem | undefined,
  { person, fresh }: { person: Person; fresh: Pick<OpenCode, 'id' | 'salt'> },
  attempt: CodeAttempt,
): { id: string; after: CodeItem } {
  const { source, now } = attempt
  const counts = countMail(before, attempt)
  const isOther = (one: string) => one !== source
  const others = withRequests({ codes: openCodes(before, now) }, (request) => isOther(request.source))
  const latest = others.at(-1)
  const isKept =
    latest !== undefined &&
    now + validMilliseconds <= latest.issued_at + maxMilliseconds &&
    !isSpent(latest, before, attempt)
  const mailed = isKept ? latest : newCode(fresh, attempt)
  const codes = [
    ...others
      .filter((code) => code !== mailed)
      .map((code) => ({ ...code, replaced_for: [...code.replaced_for.filter(isOther), source] })),
    {
      ...mailed,
      requests: [...mailed.requests, { source, at: now }],
      replaced_for: mailed.replaced_for.filter(isOther),
    },
  ]
  return { id: mailed.id, after: itemOf(before, { person, codes, counts }, attempt) }
}

/**
 * Decides whether a submitted code is right and returns the item to store: a right code is used up, and a wrong one
 * counts for each code that it could have been.
 * @param isRight compares the submitted code with one that may be open, in constant time
 */
export function checkCode(
  before: CodeItem | undefined,
  { person, isRight }: { person: Person; isRight: (code: Pick<OpenCode, 'salt' | 'digits'>) => boolean },
  attempt: CodeAttempt,
): { success: boolean; after: CodeItem } {
  const codes = openCodes(before, attempt.now)
  // Always compares, so the duration does not reveal whether a code is open.
  const { digits } = attempt.settings['otp.code']
  const missing = Array.from({ length: usualCodes - codes.length }, () => ({ salt: '', digits }))
  const right = new Set([...codes, ...missing].filter(isRight).map(({ salt }) => salt))
  const mayTry = hasAttemptsLeft(before, attempt)
  const tried = codes.filter(
    (code) => mayTry && !code.replaced_for.includes(attempt.source) && !isSpent(code, before, attempt),
  )
  const success = tried.some(({ salt }) => right.has(salt))
  const counts = success ? countSuccess(before, attempt) : countWrong(before, tried.length, attempt)
  const kept = success
    ? codes.filter(({ salt }) => !right.has(salt))
    : codes.map((code) => (tried.includes(code) ? withWrong(code, before, attempt) : code))
  return { success, after: itemOf(before, { person, codes: kept, counts }, attempt) }
}

function newCode({ id, salt }: Pick<OpenCode, 'id' | 'salt'>, { now, settings }: CodeAttempt): OpenCode {
  const { digits } = settings['otp.code']
  const wrong = { known: 0, unknown: 0 }
  return { id, salt, digits, issued_at: now, requests: [], replaced_for: [], wrong }
}

/** Returns the codes with the requests that are kept, without the codes that have none. */
function withRequests(
  before: Pick<CodeItem, 'codes'> | undefined,
  isKept: (request: OpenCode['requests'][number]) => boolean,
): OpenCode[] {
  return (before?.codes ?? [])
    .map((code) => ({ ...code, requests: code.requests.filter(isKept) }))
    .filter(({ requests }) => requests.length > 0)
}

function withWrong(code: OpenCode, before: CodeItem | undefined, attempt: CodeAttempt): OpenCode {
  const { known, unknown } = code.wrong
  const wrong = isKnownSource(before, attempt)
    ? { known: known + 1, unknown }
    : { known, unknown: unknown + 1 }
  return { ...code, wrong }
}

/**
 * Returns whether a source may no longer try a code. Guesses find a code with a probability below 1 in 10,000, and those
 * of unknown sources leave half of the attempts to the known ones.
 */
function isSpent({ digits, wrong }: OpenCode, before: CodeItem | undefined, attempt: CodeAttempt): boolean {
  const all = 10 ** digits / 10_000 - 1
  if (wrong.known + wrong.unknown >= all) return true
  return !isKnownSource(before, attempt) && wrong.unknown >= Math.floor(all / 2)
}

/**
 * Sets the expiry to the time when the codes and counts no longer matter. Keeps the rest of the item: its events, and what
 * another release has added.
 */
function itemOf(
  before: CodeItem | undefined,
  { person, codes, counts }: { person: Person; codes: OpenCode[]; counts: Counts },
  attempt: CodeAttempt,
): CodeItem {
  const end = Math.max(countsEndAt(counts, attempt), attempt.now + 2 * validMilliseconds)
  return {
    ...before,
    ...codeKey(person.email_hash),
    tenant_id: attempt.settings['auth.publicTenant'],
    codes,
    ...counts,
    version: (before?.version ?? 0) + 1,
    expires_at: Math.ceil(end / 1000),
  }
}
