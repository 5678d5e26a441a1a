import { beforeEach, describe, expect, test } from '@jest/globals'
import { timestamp } from '#shared/platform/base/clock.ts'
import { Denial, fail } from '#shared/platform/base/failure.ts'
import type { Decision, Effects } from '#shared/platform/idempotency/decision.ts'
import { asIdempotencyRecord, type PendingRecord } from '#shared/platform/idempotency/idempotency-record.ts'
import { replayEarlier, runOnce, runWithoutKey, takeOver } from '#shared/platform/idempotency/run-once.ts'
import { pendingKeyOf } from '#shared/platform/table/keys.ts'
import type { Put } from '#shared/platform/table/table.ts'
import type { Settings } from '#shared/settings/register.ts'
import { connectionError, memoryRuntime } from '#test/support/memory-runtime.ts'
import {
  codeOf,
  itemsOf,
  keyedRequest,
  lifetimeSeconds,
  recordIn,
  responseOf,
  runOf,
  type SagaScript,
  type Scripted,
  scriptedDecision,
  scriptedSaga,
  tenant,
} from './scripted-run.ts'

const leaseMilliseconds = 30_000

let runtime: ReturnType<typeof memoryRuntime>
beforeEach(() => useSettings())
function useSettings(changes: Partial<Settings> = {}) {
  runtime = memoryRuntime({ 'idempotency.whilePending': { waitSeconds: 1, status: 503 }, ...changes })
}

const once = (scripted: Scripted = scriptedDecision(runtime), keyed = keyedRequest(runtime)) =>
  runOnce(runOf(runtime, scripted, keyed))
const rejecting = (thrown: unknown) =>
  scriptedDecision(runtime, () => {
    throw thrown
  })
const itemOf = ({ writes = [] }: Effects) => (writes[0] as Put).item
const orders = () => itemsOf(runtime, 'order')
const pending = () => asIdempotencyRecord(recordIn(runtime) as never) as PendingRecord
/** Puts a pending record with another lease in place of the current one. */
const stealLease = (lease_until: number) =>
  runtime.table.put({
    item: { ...pending(), lease_id: 'another', lease_until } as never,
    condition: 'none',
  })

describe('a decision under a key', () => {
  test('is stored once and replayed byte for byte', async () => {
    const first = await once()
    const second = await once()
    expect(first).toMatchObject({ status: 'stored', response: responseOf(String(orders()[0]?.id)) })
    expect(second).toEqual({ status: 'replayed', response: first.response })
    expect(orders()).toHaveLength(1)
  })

  test('is rejected with another payload', async () => {
    await once()
    expect(await codeOf(once(undefined, keyedRequest(runtime, { amount: 6 })))).toBe(
      'CONFLICT.idempotency.payload_mismatch',
    )
  })

  test('is rejected with the time of the first request', async () => {
    const details = { first_used_at: timestamp(runtime.clock.now()) }
    await once()
    runtime.clock.advance(1000)
    await once()
    const other = once(undefined, keyedRequest(runtime, { amount: 6 }))
    await expect(other).rejects.toMatchObject({ details })
  })

  test('runs again once its record has expired', async () => {
    await once()
    runtime.clock.advance(lifetimeSeconds * 1000 - 1)
    expect(await once()).toMatchObject({ status: 'replayed' })
    runtime.clock.advance(1)
    expect(await once()).toMatchObject({ status: 'stored' })
    expect(orders()).toHaveLength(2)
  })

  test('reports the failure that it commits', async () => {
    const failure = fail('POLICY.refund.declined')
    const decided = () => ({ ...responseOf('declined', 409), failure })
    expect(await once(scriptedDecision(runtime, decided))).toEqual({
      status: 'stored',
      response: responseOf('declined', 409),
      failure,
    })
  })

  test('that conflicts with another write fails with the error of the write, and stores nothing', async () => {
    const decision = (await scriptedDecision(runtime).decide()) as Decision
    await runtime.table.put({ item: itemOf(decision), condition: 'none' })
    expect(await codeOf(once(scriptedDecision(runtime, () => decision)))).toBe('INTERNAL.unexpected')
    expect(recordIn(runtime)).toBeUndefined()
  })
})

describe('a request that is rejected', () => {
  const rejection = fail('NOT_FOUND.order')

  test('fails with the rejection and stores nothing', async () => {
    await expect(once(rejecting(rejection))).rejects.toBe(rejection)
    expect(runtime.store.all()).toEqual([])
  })

  const denial = new Denial(rejection, 'AUTHZ.scope.tenant', 'order')
  test.each([
    ['of its payload', rejection],
    ['as too many', fail('RATE_LIMIT.exceeded')],
    ['as a denial', denial],
    ['by a mistake of the code', fail('INTERNAL.unexpected')],
  ])('%s is replayed if its key succeeded before', async (_, thrown) => {
    const { response } = await once()
    expect(await once(rejecting(thrown))).toEqual({ status: 'replayed', response })
  })

  test('is not replayed from an expired record', async () => {
    await once()
    runtime.clock.advance(lifetimeSeconds * 1000)
    await expect(once(rejecting(rejection))).rejects.toBe(rejection)
  })

  test('as a denial fails with the denial', async () => {
    await expect(once(rejecting(denial))).rejects.toBe(denial)
  })

  test.each(['DEPENDENCY.unavailable', 'TRANSIENT.error'] as const)(
    'for a time (%s) fails at once, without another call of the table',
    async (code) => {
      let calls = 0
      runtime.beforeCall = () => {
        calls += 1
      }
      expect(await codeOf(once(rejecting(fail(code))))).toBe(code)
      expect(calls).toBe(0)
    },
  )
})

describe('a fault of the code', () => {
  const fault = new TypeError('a mistake')

  test('is stored as failed and replayed', async () => {
    const first = await once(rejecting(fault))
    expect(first).toMatchObject({
      status: 'stored',
      response: responseOf('fault', 500),
      failure: { code: 'INTERNAL.unexpected' },
    })
    expect(recordIn(runtime)).toMatchObject({ state: 'failed' })
    expect(await once()).toEqual({ status: 'replayed', response: responseOf('fault', 500) })
  })

  test('is not stored in place of a success', async () => {
    const { response } = await once()
    expect(await once(rejecting(fault))).toEqual({ status: 'replayed', response })
  })

  test('returns the response of a request that succeeds in the meantime', async () => {
    const run = runOf(runtime, rejecting(fault))
    runtime.beforeCall = async ({ name }) => {
      if (name !== 'put') return
      runtime.beforeCall = () => {}
      await once()
    }
    expect(await runOnce(run)).toMatchObject({ status: 'replayed', response: { status: 201 } })
  })
})

const paying = (script: Partial<SagaScript> = {}) =>
  scriptedSaga(runtime, { finishedBy: 'service', execute: () => {}, ...script })
const failing = (code: Parameters<typeof fail>[0]) => () => {
  throw fail(code)
}
/** Starts a saga that stays pending: the provider is unavailable. */
async function leavePending(script: Partial<SagaScript> = {}) {
  await codeOf(once(paying({ execute: failing('DEPENDENCY.unavailable'), ...script })))
}

describe('a saga under a key', () => {
  test('is executed once, and its outcome replayed', async () => {
    const payment = paying()
    const first = await once(payment)
    expect(first).toMatchObject({ status: 'stored', response: responseOf(String(orders()[0]?.id)) })
    expect(await once(payment)).toEqual({ status: 'replayed', response: first.response })
    expect(payment.paid).toHaveLength(1)
    expect(orders()).toMatchObject([{ state: 'paid' }])
  })

  test('is stored as pending under a lease of 30 seconds before it is executed', async () => {
    const execute = () => {
      expect(recordIn(runtime)).toMatchObject({
        state: 'pending',
        lease_until: runtime.clock.now() + leaseMilliseconds,
        saga: { state: { id: orders()[0]?.id } },
      })
    }
    expect(await once(paying({ execute }))).toMatchObject({ status: 'stored' })
  })

  test('that the service finishes has an entry among the pending sagas until its outcome', async () => {
    const execute = () => {
      const { pk, sk, payload_hash, saga } = pending()
      expect(itemsOf(runtime, 'pending-saga')).toEqual([
        {
          ...pendingKeyOf('pending-saga', String(saga.entry)),
          operation: 'tests.pay',
          record: { pk, sk },
          payload_hash,
          correlation_id: 'corr-1',
          tenant,
        },
      ])
    }
    await once(paying({ execute }))
    expect(itemsOf(runtime, 'pending-saga')).toEqual([])
  })

  test('that its caller finishes has no such entry', async () => {
    const execute = () => expect(itemsOf(runtime, 'pending-saga')).toEqual([])
    await once(paying({ finishedBy: 'caller', execute }))
    expect(recordIn(runtime)).toMatchObject({ state: 'complete' })
  })

  test('whose start conflicts fails with the error of the write, and is not executed', async () => {
    const payment = paying()
    const start = await payment.decide()
    await runtime.table.put({ item: itemOf(payment.saga.start(start.state)), condition: 'none' })
    const calls: string[] = []
    runtime.beforeCall = ({ name }) => calls.push(name)
    expect(await codeOf(once({ ...payment, decide: async () => start }))).toBe('CONFLICT.soft_deleted')
    expect(payment.paid).toEqual([])
    expect(recordIn(runtime)).toBeUndefined()
    // No lease is released.
    expect(calls).not.toContain('put')
  })
})

describe('a saga whose execution fails for a time', () => {
  test('fails with that error and stays pending', async () => {
    const payment = paying({ execute: failing('DEPENDENCY.timeout') })
    expect(await codeOf(once(payment))).toBe('DEPENDENCY.timeout')
    expect(pending()).toMatchObject({ state: 'pending', lease_until: 0 })
  })

  test('is resumed at once with its recorded state, and never started again', async () => {
    await leavePending()
    const [order] = orders()
    const payment = paying()
    expect(await once(payment)).toMatchObject({ status: 'stored' })
    expect(payment.paid).toEqual([order?.id])
    expect(orders()).toHaveLength(1)
  })

  test('and that its caller finishes stays pending, too', async () => {
    await leavePending({ finishedBy: 'caller' })
    expect(pending().lease_until).toBe(0)
  })

  test('keeps its entry among the pending sagas when it is resumed', async () => {
    await leavePending()
    await leavePending()
    expect(itemsOf(runtime, 'pending-saga')).toMatchObject([{ sk: pending().saga.entry }])
  })

  test('returns the first failure if its lease cannot be released', async () => {
    const execute = () => {
      runtime.beforeCall = () => {
        throw connectionError()
      }
      throw fail('DEPENDENCY.timeout')
    }
    expect(await codeOf(once(paying({ execute })))).toBe('DEPENDENCY.timeout')
    runtime.beforeCall = () => {}
    expect(pending()).toMatchObject({ state: 'pending', saga: { state: { id: orders()[0]?.id } } })
  })
})

describe('a saga whose execution meets a mistake of the code', () => {
  const execute = () => {
    throw new TypeError('a mistake')
  }

  test('is stored as failed if its caller finishes it', async () => {
    expect(await once(paying({ finishedBy: 'caller', execute }))).toMatchObject({
      status: 'stored',
      response: { status: 500 },
    })
    expect(recordIn(runtime)).toMatchObject({ state: 'failed' })
  })

  test('stays pending if the service finishes it, because the effect may have been made', async () => {
    await expect(once(paying({ execute }))).rejects.toMatchObject({
      code: 'TRANSIENT.error',
      cause: { message: 'a mistake' },
    })
    expect(pending()).toMatchObject({ state: 'pending', lease_until: 0 })
  })
})

describe('an outcome that cannot be committed', () => {
  test('is transient, and leaves the saga pending', async () => {
    const execute = async (id: string) => {
      const [order] = orders()
      await runtime.table.put({ item: { ...order, id, state: 'void' } as never, condition: 'none' })
    }
    await expect(once(paying({ execute }))).rejects.toMatchObject({
      code: 'TRANSIENT.error',
      cause: { code: 'CONFLICT.soft_deleted' },
    })
    expect(pending().lease_until).toBe(0)
  })

  test('because the table is down fails with that error', async () => {
    const execute = () => {
      runtime.beforeCall = ({ name }) => {
        if (name === 'transact') throw connectionError()
      }
    }
    expect(await codeOf(once(paying({ execute })))).toMatch(/^DEPENDENCY\./)
    runtime.beforeCall = () => {}
    expect(pending().lease_until).toBe(0)
  })

  test('in the time of the request is committed in the time for outcomes', async () => {
    let tablesForOutcome = 0
    const run = runOf(runtime, paying())
    const spent = new Proxy(run.table, {
      get: (table, name) => {
        if (tablesForOutcome === 0 && orders().length > 0) throw fail('DEPENDENCY.timeout')
        return Reflect.get(table, name)
      },
    })
    const { tableForOutcome } = run
    const outcome = await runOnce({
      ...run,
      table: spent,
      tableForOutcome() {
        tablesForOutcome += 1
        return tableForOutcome()
      },
    })
    expect(outcome.status).toBe('stored')
    expect(tablesForOutcome).toBe(1)
  })

  test('because another attempt was first returns the response of that one', async () => {
    const other = paying()
    const execute = async () => {
      await stealLease(0)
      await once(other)
    }
    const outcome = await once(paying({ execute }))
    expect(outcome).toMatchObject({ status: 'replayed' })
    expect(orders()).toHaveLength(1)
  })
})

describe('a start whose response is lost', () => {
  test('is resumed by the next request without waiting for its lease', async () => {
    runtime.afterCall = ({ name }) => {
      if (name === 'transact') throw connectionError()
    }
    expect(await codeOf(once(paying()))).toMatch(/^DEPENDENCY\./)
    runtime.afterCall = () => {}
    const from = runtime.clock.now()
    const payment = paying()
    expect(await once(payment)).toMatchObject({ status: 'stored' })
    expect(runtime.clock.now()).toBe(from)
    expect(payment.paid).toEqual([orders()[0]?.id])
  })
})

describe('a request whose key is in progress', () => {
  const inProgress = async () => {
    await leavePending()
    await stealLease(runtime.clock.now() + leaseMilliseconds)
  }

  test.each([
    [503, 'DEPENDENCY.unavailable'],
    [409, 'CONFLICT.idempotency.in_progress'],
  ] as const)('fails after the configured wait (%d)', async (status, code) => {
    useSettings({ 'idempotency.whilePending': { waitSeconds: 1, status } })
    await inProgress()
    const from = runtime.clock.now()
    expect(await codeOf(once(paying()))).toBe(code)
    expect(runtime.clock.now() - from).toBe(1000)
  })

  test('looks at the record every 50 milliseconds', async () => {
    await inProgress()
    let looks = 0
    runtime.beforeCall = ({ name }) => {
      looks += name === 'get' ? 1 : 0
    }
    await codeOf(once(paying()))
    expect(looks).toBe(20)
  })

  test('returns the response that is stored while it waits', async () => {
    await inProgress()
    runtime.beforeCall = async ({ name }) => {
      if (name !== 'get') return
      runtime.beforeCall = () => {}
      await stealLease(0)
      await once(paying())
    }
    const payment = paying()
    expect(await once(payment)).toMatchObject({ status: 'replayed' })
    expect(payment.paid).toEqual([])
  })

  test('fails if the record expires while it waits', async () => {
    await inProgress()
    await runtime.table.put({
      item: { ...pending(), expires_at: Math.floor(runtime.clock.now() / 1000) + 0.01 } as never,
      condition: 'none',
    })
    const from = runtime.clock.now()
    expect(await codeOf(once(paying()))).toBe('DEPENDENCY.unavailable')
    expect(runtime.clock.now() - from).toBe(50)
  })

  test('is rejected at once with another payload', async () => {
    await inProgress()
    const from = runtime.clock.now()
    expect(await codeOf(once(paying(), keyedRequest(runtime, { amount: 6 })))).toBe(
      'CONFLICT.idempotency.payload_mismatch',
    )
    expect(runtime.clock.now()).toBe(from)
  })

  test('that another request has completed is rejected with the time of the first one', async () => {
    const details = { first_used_at: timestamp(runtime.clock.now()) }
    await leavePending()
    runtime.clock.advance(60_000)
    await once(paying())
    const other = once(paying(), keyedRequest(runtime, { amount: 6 }))
    await expect(other).rejects.toMatchObject({ details })
  })

  test('takes over at the end of the lease', async () => {
    await leavePending()
    await stealLease(runtime.clock.now() + 100)
    const from = runtime.clock.now()
    expect(await once(paying())).toMatchObject({ status: 'stored' })
    expect(runtime.clock.now() - from).toBe(100)
  })
})

describe('a takeover', () => {
  const resume = (scripted: Scripted, record = pending()) => takeOver(runOf(runtime, scripted), record)

  test('holds a new lease while it executes', async () => {
    await leavePending()
    const before = pending()
    const execute = () => {
      expect(pending()).toMatchObject({
        saga: before.saga,
        lease_until: runtime.clock.now() + leaseMilliseconds,
      })
      expect(pending().lease_id).not.toBe(before.lease_id)
    }
    expect(await resume(paying({ execute }), before)).toMatchObject({ status: 'stored' })
  })

  test('of a saga that its caller finishes keeps the expiry of the record', async () => {
    await leavePending({ finishedBy: 'caller' })
    const { expires_at } = pending()
    runtime.clock.advance(60_000)
    await leavePending({ finishedBy: 'caller' })
    expect(pending().expires_at).toBe(expires_at)
  })

  test('of such a saga stores its outcome for the whole lifetime', async () => {
    await leavePending({ finishedBy: 'caller' })
    const { expires_at } = pending()
    runtime.clock.advance(60_000)
    await once(paying({ finishedBy: 'caller' }))
    expect(recordIn(runtime)).toHaveProperty('expires_at', expires_at + 60)
  })

  test('of a record that another took first returns what that one stores', async () => {
    await leavePending()
    const before = pending()
    await stealLease(0)
    await once(paying())
    const payment = paying()
    expect(await resume(payment, before)).toMatchObject({ status: 'replayed' })
    expect(payment.paid).toEqual([])
  })

  test('of a record that another holds waits for it', async () => {
    await leavePending()
    const before = pending()
    await stealLease(runtime.clock.now() + leaseMilliseconds)
    const payment = paying()
    expect(await codeOf(resume(payment, before))).toBe('DEPENDENCY.unavailable')
    expect(payment.paid).toEqual([])
  })

  test('whose response was lost recognizes its own lease', async () => {
    await leavePending()
    runtime.afterCall = () => {
      runtime.afterCall = () => {}
      throw connectionError()
    }
    const payment = paying()
    expect(await resume(payment)).toMatchObject({ status: 'stored' })
    expect(payment.paid).toHaveLength(1)
  })

  test('of a record that is gone is transient', async () => {
    await leavePending()
    const before = pending()
    await runtime.table.transact([{ remove: { pk: before.pk, sk: before.sk }, condition: 'none' }])
    const payment = paying()
    expect(await codeOf(resume(payment, before))).toBe('TRANSIENT.error')
    expect(payment.paid).toEqual([])
  })
})

describe('the replay of an earlier request', () => {
  const replay = (keyed = keyedRequest(runtime)) =>
    replayEarlier(runOf(runtime, scriptedDecision(runtime), keyed))

  test('is undefined if there was none', async () => {
    expect(await replay()).toBeUndefined()
  })

  test('returns the stored response', async () => {
    const { response } = await once()
    expect(await replay()).toEqual({ status: 'replayed', response })
  })

  test('is undefined for another payload', async () => {
    await once()
    expect(await replay(keyedRequest(runtime, { amount: 6 }))).toBeUndefined()
  })

  test('is undefined while that is in progress', async () => {
    await leavePending()
    expect(await replay()).toBeUndefined()
  })

  test('is undefined once the record has expired', async () => {
    await once()
    runtime.clock.advance(lifetimeSeconds * 1000 - 1)
    expect(await replay()).toBeDefined()
    runtime.clock.advance(1)
    expect(await replay()).toBeUndefined()
  })
})

describe('an operation without a key', () => {
  const run = (scripted: Scripted) => runWithoutKey(runOf(runtime, scripted))

  test('commits its decision, and runs again each time', async () => {
    const first = await run(scriptedDecision(runtime))
    expect(first).toEqual({ response: responseOf(String(orders()[0]?.id)), failure: undefined })
    await run(scriptedDecision(runtime))
    expect(orders()).toHaveLength(2)
    expect(recordIn(runtime)).toBeUndefined()
  })

  test('commits the start of a saga, executes it and commits its outcome', async () => {
    const payment = paying({ execute: () => expect(orders()).toMatchObject([{ state: 'pending' }]) })
    expect(await run(payment)).toMatchObject({ response: { status: 201 } })
    expect(orders()).toMatchObject([{ state: 'paid' }])
    expect(payment.paid).toHaveLength(1)
  })
})
