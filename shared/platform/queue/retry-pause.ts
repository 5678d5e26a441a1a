import type { Clock } from '../clock.ts'

const longestSeconds = 900

/**
 * The pause before an attempt, in whole seconds: twice as long each time, with jitter, so that what failed together
 * does not come again together.
 * @param attempt 2 for the first that follows a failure
 */
export function pauseBefore(attempt: number, clock: Pick<Clock, 'jitter'>): number {
  const ceiling = Math.min(longestSeconds, 2 ** attempt)
  return Math.ceil(ceiling * (0.5 + clock.jitter() / 2))
}
