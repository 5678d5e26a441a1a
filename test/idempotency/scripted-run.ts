import { newId, startBudget, timestamp } from '#shared/platform/base/clock.ts'
import type { Failure } from '#shared/platform/base/failure.ts'
import type { Decision, KeyedRun, Run, Saga } from '#shared/platform/idempotency/decision.ts'
import { fingerprint, type KeyedRequest, recordKey } from '#shared/platform/idempotency/idempotency-record.ts'
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
    tenant,
    firstUsedAt: timestamp(clock.now()),
    expiresAt: Math.floor(clock.now() / 1000) + lifetimeSeconds,
  }
}

/** A decision, or a saga with the decision to start it. */
export type Scripted = Pick<Run, 'decide' | 'saga'>

/** A run under the key `k`. */
export function runOf(
  runtime: MemoryRuntime,
  { decide, saga }: Scripted,
  keyed = keyedRequest(runtime),
): KeyedRun {
  const { clock, settings, table } = runtime
  return {
    operation: 'tests.pay',
    settings,
    table,
    clock,
    caller: actor,
    correlation: { id: 'corr-1', trace: {} },
    decide,
    saga,
    keyed,
    render: ({ status, headers = {}, body, failure }) =>
      failure && body === undefined
        ? responseOf('fault', failure.http)
        : { status, headers, body: String(body) },
    tableForOutcome: () => runtime.openTable(startBudget(clock, 1000)),
  }
}

export function responseOf(body: string, status = 201) {
  return { status, headers: { 'Content-Type': 'text/plain' }, body }
}

/** A decision whose only effect is a new order; it returns the order's id, or the result of `decided`. */
export function scriptedDecision({ clock }: MemoryRuntime, decided?: () => Decision): Scripted {
  return {
    async decide() {
      if (decided) return decided()
      const id = newId(clock)
      return { ...responseOf(id), writes: [create({ ...keyOf(tenant, 'order', id), id })] }
    },
    saga: undefined,
  }
}

export interface SagaScript {
  finishedBy: 'service' | 'caller'
  /** Replaces the call of the provider. */
  execute: (id: string) => unknown
  /** Replaces the committed outcome. */
  outcome?: () => Decision
}

/** A saga that stores a pending order, pays it outside the table, and stores it as paid. */
export function scriptedSaga({ clock }: MemoryRuntime, script: SagaScript) {
  const paid: string[] = []
  const saga: Saga<{ id: string }, void> = {
    finishedBy: script.finishedBy,
    start({ id }) {
      const item = { ...keyOf(tenant, 'order', id), id, state: 'pending' }
      return { writes: [create(item, 'CONFLICT.soft_deleted')] }
    },
    async execute({ id }) {
      await script.execute(id)
      paid.push(id)
    },
    outcome({ id }) {
      if (script.outcome) return script.outcome()
      const item = { ...keyOf(tenant, 'order', id), id, state: 'paid' }
      return { ...responseOf(id), writes: [replace(item, { state: 'pending' }, 'CONFLICT.soft_deleted')] }
    },
  }
  return { paid, saga: saga as Saga, decide: async () => ({ state: { id: newId(clock) } }) }
}

export const itemsOf = ({ store }: MemoryRuntime, entity: string) =>
  store.all().filter(({ pk }) => pk === entity || pk.startsWith(`${entity}#`))
export const recordIn = (runtime: MemoryRuntime) => itemsOf(runtime, 'idempotency')[0]
export const codeOf = (promise: Promise<unknown>) => promise.then(String, (thrown: Failure) => thrown.code)
