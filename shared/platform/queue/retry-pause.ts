import type { Clock } from '../clock.ts'

const longestSeconds = 900

/**
 * Returns the pause before an attempt, in whole seconds. It doubles each time, and its jitter spreads the retries of
 * messages that failed together.
 * @param attempt 2 for the first retry
 */
export function pauseBefore(attempt: number, clock: Pick<Clock, 'jitter'>): number {
  const ceiling = Math.min(longestSeconds, 2 ** attempt)
  return Math.ceil(ceiling * (0.5 + clock.jitter() / 2))
}
