/** What a call waits before its attempts 2 to 5, from and to, in milliseconds; so a call is five attempts at most. */
const waits = [
  [100, 200],
  [200, 400],
  [400, 800],
  [800, 1600],
] as const

/** The time of a whole call, attempts and waits together, in milliseconds. */
export const totalMilliseconds = 10_000

export interface Progress {
  /** Attempts made so far. */
  attempts: number
  /** Milliseconds since the call began. */
  elapsed: number
  /** What the service asked for, in milliseconds. */
  retryAfter: number | undefined
}

/**
 * How long to wait before the next attempt, in milliseconds; undefined where there is to be none (contract, 'Retry
 * behaviour'). What the service asks for is never cut short: where it does not fit into the call's time, the call ends.
 * The contract's cap of 2 s lies above the last range and so needs no line here.
 * @param random a number from 0 up to 1
 */
export function nextWait(
  { attempts, elapsed, retryAfter = 0 }: Progress,
  random: number,
): number | undefined {
  const range = waits[attempts - 1]
  if (!range) return undefined
  const [from, to] = range
  const wait = Math.max(from + random * (to - from), retryAfter)
  return elapsed + wait < totalMilliseconds ? wait : undefined
}

/**
 * Whether a response is worth another attempt: 429 and 5xx, never another 4xx. A 503 may mean that the first request
 * with the key is still in progress. An envelope with `retryable: false`, such as that of INTERNAL.unexpected, ends the
 * call: its outcome is stored under the key, and another attempt would get the same response.
 * @param retryable as the envelope says; undefined for a response without one, such as a gateway's bare 502
 */
export function isWorthRetrying(status: number, retryable: boolean | undefined): boolean {
  return (status === 429 || status >= 500) && retryable !== false
}

/**
 * Reads Retry-After, in seconds or as a date, as milliseconds from now. A date is compared with the service's own
 * clock where the answer tells it, so that a wrong clock here changes nothing.
 * @param now milliseconds since the epoch
 */
export function retryAfter(headers: Headers, now: number): number | undefined {
  const value = headers.get('retry-after')
  if (value === null) return undefined
  if (/^\d+$/.test(value)) return Number(value) * 1000
  const until = Date.parse(value)
  const told = Date.parse(headers.get('date') ?? '')
  return Number.isNaN(until) ? undefined : Math.max(0, until - (Number.isNaN(told) ? now : told))
}
