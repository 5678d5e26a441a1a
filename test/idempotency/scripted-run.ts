import { newId, startBudget } from '#shared/platform/base/clock.ts'
import { type Failure, fail } from '#shared/platform/base/failure.ts'
import type { RenderedDecision, SagaStart } from '#shared/platform/idempotency/effects.ts'
import { fingerprint, type KeyedRequest, recordKey } from '#shared/platform/idempotency/record.ts'
import type { KeyedExecution, Work } from '#shared/platform/idempotency/run-once.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import { create, replace } from '#shared/platform/table/table.ts'
import type { MemoryRuntime } from '#test/support/memory-runtime.ts'

export const tenant = 'acme'
export const actor = { sub: 'u1', tenant, role: 'Editor' as const }
export const lifetimeSeconds = 3600

/** A request of the key `k`. */
export function keyedRequest({ clock }: MemoryRuntime, payload: object = { amount: 5 }): KeyedRequest {
  return {
    key: recordKey(tenant, 'u1', 'POST /pay', 'k'),
    payloadHash: fingerprint(payload),
    expiresAt: Math.floor(clock.now() / 1000) + lifetimeSeconds,
  }
}

/** An execution of some work under the key `k`. */
export function runOf(runtime: MemoryRuntime, work: Work, keyed = keyedRequest(runtime)): KeyedExecution {
  const { clock, settings, table } = runtime
  return {
    operation: 'tests.pay',
    settings,
    table,
    clock,
    caller: actor,
    correlation: { id: 'corr-1', trace: {} },
    work,
    keyed,
    renderFault: () => ({ response: responseOf('fault', 500), failure: fail('INTERNAL.unexpected') }),
    tableForOutcome: () => runtime.openTable(startBudget(clock, 1000)),
  }
}

export function responseOf(body: string, status = 201) {
  return { status, headers: { 'Content-Type': 'text/plain' }, body }
}

/** Work whose only effect is a new order; it returns the order's id, or the result of `decided`. */
export function decisionWork({ clock }: MemoryRuntime, decided?: () => RenderedDecision): Work {
  const none = () => Promise.reject(new Error('a decision has no effect outside the table'))
  return {
    async decide() {
      if (decided) return decided()
      const id = newId(clock)
      return { response: responseOf(id), writes: [create({ ...keyOf(tenant, 'order', id), id })] }
    },
    restore: none,
    execute: none,
    outcome: none,
  }
}

export interface SagaScript {
  finishedBy: 'service' | 'caller'
  /** Replaces the call of the provider. */
  execute: (id: string) => unknown
  /** Replaces the committed outcome. */
  outcome?: () => RenderedDecision
}

/** Work that stores a pending order, pays it outside the table, and stores it as paid. */
export function sagaWork({ clock }: MemoryRuntime, script: SagaScript): Work & { paid: string[] } {
  const paid: string[] = []
  return {
    paid,
    finishedBy: script.finishedBy,
    async decide(): Promise<SagaStart> {
      const id = newId(clock)
      const item = { ...keyOf(tenant, 'order', id), id, state: 'pending' }
      return { state: { id }, recorded: { id }, writes: [create(item, 'CONFLICT.soft_deleted')] }
    },
    restore: async (recorded) => recorded,
    async execute(state) {
      const { id } = state as { id: string }
      await script.execute(id)
      paid.push(id)
    },
    async outcome(state) {
      if (script.outcome) return script.outcome()
      const { id } = state as { id: string }
      const item = { ...keyOf(tenant, 'order', id), id, state: 'paid' }
      return {
        response: responseOf(id),
        writes: [replace(item, { state: 'pending' }, 'CONFLICT.soft_deleted')],
      }
    },
  }
}

export const itemsOf = ({ store }: MemoryRuntime, entity: string) =>
  store.all().filter(({ pk }) => pk === entity || pk.startsWith(`${entity}#`))
export const recordIn = (runtime: MemoryRuntime) => itemsOf(runtime, 'idempotency')[0]
export const codeOf = (promise: Promise<unknown>) => promise.then(String, (thrown: Failure) => thrown.code)
