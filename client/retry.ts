/**
 * The range of the delay before attempts 2 to 5, in milliseconds, below its cap of 2 s. A call has at most 5
 * attempts.
 */
const waits = [
  [100, 200],
  [200, 400],
  [400, 800],
  [800, 1600],
] as const

/** The limit of a whole call, attempts and delays together, in milliseconds. */
export const totalMilliseconds = 10_000

export interface Progress {
  /** Attempts made so far. */
  attempts: number
  /** Milliseconds since the call started. */
  elapsed: number
  /** The delay of Retry-After, in milliseconds. */
  retryAfter: number | undefined
}

/** The most by which a delay of Retry-After is prolonged, as a part of it: clients that were refused together return apart. */
const maxRetryAfterJitter = 0.25

/**
 * Returns the delay before the next attempt in milliseconds; undefined if there is none. Retry-After is never
 * shortened, and prolonged by up to a quarter at random. If it does not fit into the limit of the call, the call ends.
 * @param random a number from 0 (inclusive) to 1 (exclusive)
 */
export function nextWait(
  { attempts, elapsed, retryAfter = 0 }: Progress,
  random: number,
): number | undefined {
  const range = waits[attempts - 1]
  if (!range) return undefined
  const [from, to] = range
  const left = totalMilliseconds - elapsed
  const jitter = random * Math.min(retryAfter * maxRetryAfterJitter, left - retryAfter)
  const wait = Math.max(from + random * (to - from), retryAfter + jitter)
  return retryAfter < left && wait < left ? wait : undefined
}

/**
 * Returns whether a response is retried: 429 and 5xx, never another 4xx. A 503 may mean that the first request with
 * the key is still in progress. An envelope with `retryable: false`, such as that of INTERNAL.unexpected, ends the
 * call: its outcome is stored under the key, and another attempt would get the same response.
 * @param retryable from the envelope; undefined for a response without one, such as a gateway's bare 502
 */
export function isWorthRetrying(status: number, retryable: boolean | undefined): boolean {
  return (status === 429 || status >= 500) && retryable !== false
}

/**
 * Returns the delay of Retry-After (seconds or a date) in milliseconds. A date is compared with the Date header of
 * the response if there is one, because the local clock may be wrong.
 * @param now milliseconds since the epoch
 */
export function retryAfter(headers: Headers, now: number): number | undefined {
  const value = headers.get('retry-after')
  if (value === null) return undefined
  if (/^\d+$/.test(value)) return Number(value) * 1000
  const until = Date.parse(value)
  const serverTime = Date.parse(headers.get('date') ?? '')
  return Number.isNaN(until) ? undefined : Math.max(0, until - (Number.isNaN(serverTime) ? now : serverTime))
}
