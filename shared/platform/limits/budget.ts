import type { Clock } from '../clock.ts'
import { fail } from '../errors/failure.ts'

/** How long a request may still take: the caller's X-Request-Timeout or the largest that a deployment allows. */
export interface Budget {
  /** Milliseconds left, never below 0. */
  remaining(): number
  /** @throws DEPENDENCY.timeout once nothing is left, so that no new effect begins. */
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
