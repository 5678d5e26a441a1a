import type { Clock } from './clock.ts'
import { fail } from './failure.ts'

/** The remaining time of a request: the caller's X-Request-Timeout, limited to the deployment's maximum. */
export interface Budget {
  /** Milliseconds left, never below 0. */
  remaining(): number
  /** @throws DEPENDENCY.timeout when no time is left: no new effect may start. */
  check(): void
  /** Aborts calls in flight when the budget is spent. */
  readonly signal: AbortSignal
}

export function startBudget(clock: Clock, milliseconds: number): Budget {
  const deadline = clock.now() + milliseconds
  const remaining = () => Math.max(0, deadline - clock.now())
  return {
    remaining,
    check() {
      if (remaining() <= 0) throw fail('DEPENDENCY.timeout')
    },
    signal: AbortSignal.timeout(Math.max(1, milliseconds)),
  }
}
