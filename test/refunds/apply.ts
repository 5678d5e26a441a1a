import { commitDecision } from '#shared/platform/idempotency/commit-decision.ts'
import type { Effects } from '#shared/platform/idempotency/decision.ts'
import type { MemoryRuntime } from '#test/support/memory-runtime.ts'

/** Commits the effects of a decision. */
export async function apply({ table, clock }: MemoryRuntime, effects: Effects): Promise<void> {
  const correlation = { id: 'corr-1', trace: {} }
  await commitDecision({ table, clock, caller: undefined, correlation }, effects, () => ({
    result: undefined,
  }))
}
