import { beforeEach, describe, expect, test } from '@jest/globals'
import { newId, timestamp } from '#shared/platform/base/clock.ts'
import { fail } from '#shared/platform/base/failure.ts'
import { backloggedTenantsKey, maxPendingSagas } from '#shared/platform/idempotency/backlog.ts'
import type { Saga } from '#shared/platform/idempotency/decision.ts'
import { fingerprint, pendingRecord, recordKey } from '#shared/platform/idempotency/idempotency-record.ts'
import { addSagaEntry, firstSagaEntry } from '#shared/platform/idempotency/pending-saga.ts'
import { created, type Endpoint } from '#shared/platform/request/endpoint.ts'
import { finishSagas, workInTurns } from '#shared/platform/request/finish-sagas.ts'
import type { Item } from '#shared/platform/table/keys.ts'
import { inMemoryProvider, type Payment, payEndpoint, paymentItem } from '#test/faults/payment-saga.ts'
import { memoryRuntime } from '#test/support/memory-runtime.ts'
import { itemsOf } from './scripted-run.ts'

const minAgeMilliseconds = 60_000

let runtime: ReturnType<typeof memoryRuntime>
let provider: ReturnType<typeof inMemoryProvider>
beforeEach(() => {
  runtime = memoryRuntime()
  provider = inMemoryProvider()
})

/** Stores a pending payment as its request leaves it. @returns its item in the table */
async function leavePending({ tenant = 'acme', leaseMilliseconds = 0, operation = 'tests.pay' } = {}) {
  const { clock, table } = runtime
  const payment: Payment = { id: newId(clock), tenant, amount: 5 }
  const keyed = {
    key: recordKey(tenant, 'u1', 'POST /tests/pay', payment.id),
    payloadHash: fingerprint(payment),
    firstUsedAt: timestamp(clock.now()),
    expiresAt: Math.floor(clock.now() / 1000) + 60,
    tenant,
  }
  const lease = { lease_id: newId(clock), lease_until: clock.now() + leaseMilliseconds }
  const saga = { state: { ...payment }, entry: firstSagaEntry(lease.lease_id) }
  const requested = {
    operation,
    keyed,
    correlation: { id: 'corr-1', trace: {} },
  }
  await table.transact([
    { item: pendingRecord(keyed, saga, lease), condition: 'none' },
    { item: paymentItem(payment, 'pending'), condition: 'none' },
    ...addSagaEntry(requested, saga),
  ])
  return { payment, record: keyed.key }
}

/** Leaves pending payments until the sweeper may finish them. */
async function leaveOverdue(count = 1) {
  for (let n = 0; n < count; n += 1) await leavePending()
  runtime.clock.advance(minAgeMilliseconds)
}

const sweep = (endpoints: Endpoint[] = [payEndpoint(provider)], clock = runtime.clock) =>
  finishSagas(endpoints, { ...runtime, clock })
const states = () => itemsOf(runtime, 'order').map(({ state }) => state)
const records = () => itemsOf(runtime, 'idempotency').map(({ state }) => state)

describe('the sweeper of pending sagas', () => {
  test('finishes a saga from its recorded state', async () => {
    const { payment } = await leavePending()
    const oldest = runtime.clock.now()
    runtime.clock.advance(minAgeMilliseconds)
    expect(await sweep()).toEqual({ finished: 1, left: 0, oldest })
    expect(provider.calls).toEqual([`key-${payment.id}`])
    expect(states()).toEqual(['paid'])
    expect(records()).toEqual(['complete'])
    expect(itemsOf(runtime, 'pending-saga')).toEqual([])
  })

  test('stores the response until the lifetime of a record that is created now', async () => {
    await leaveOverdue()
    await sweep()
    const hours = runtime.settings['idempotency.lifetimeHours']
    expect(itemsOf(runtime, 'idempotency')[0]?.expires_at).toBe(
      Math.ceil(runtime.clock.now() / 1000) + hours * 3600,
    )
  })

  test('skips sagas of the last minute, whose requests may be at work', async () => {
    await leavePending()
    runtime.clock.advance(minAgeMilliseconds - 1)
    expect(await sweep()).toEqual({ finished: 0, left: 0 })
    expect(provider.calls).toEqual([])
  })

  test('leaves a saga whose lease another holds', async () => {
    await leavePending({ leaseMilliseconds: minAgeMilliseconds + 1 })
    runtime.clock.advance(minAgeMilliseconds)
    expect(await sweep()).toMatchObject({ finished: 0, left: 1 })
    expect(provider.calls).toEqual([])
    runtime.clock.advance(1)
    expect(await sweep()).toMatchObject({ finished: 1, left: 0 })
  })

  test('reports the last failure, and goes on with the next saga', async () => {
    await leaveOverdue(2)
    provider.conducts = ['down', 'pay']
    expect(await sweep()).toMatchObject({
      finished: 1,
      left: 1,
      fault: { code: 'DEPENDENCY.unavailable' },
    })
  })

  test('fails for a saga of an unknown operation', async () => {
    await leavePending({ operation: 'tests.unknown' })
    runtime.clock.advance(minAgeMilliseconds)
    expect(await sweep()).toMatchObject({
      finished: 0,
      left: 1,
      fault: { message: 'no endpoint finishes sagas of tests.unknown' },
    })
  })

  test('works on what is due although the list of full tenants cannot be read, and then fails', async () => {
    await leaveOverdue()
    runtime.beforeCall = ({ input }) => {
      if (JSON.stringify(input).includes('backlogged-tenants')) throw new Error('broken')
    }
    await expect(sweep()).rejects.toThrow('broken')
    expect(states()).toEqual(['paid'])
  })

  test('picks the endpoint of the operation', async () => {
    await leaveOverdue()
    const other = payEndpoint(provider)
    const never: Endpoint = {
      route: { ...other.route, operation: 'tests.other' },
      decide: () => created({}),
    }
    expect(await sweep([never, other])).toMatchObject({ finished: 1 })
  })

  test.each<[string, (record: { pk: string; sk: string }) => unknown]>([
    ['is complete', (key) => put({ ...key, state: 'complete' })],
    ['is gone', (key) => runtime.table.transact([{ remove: key, condition: 'none' }])],
    [
      'belongs to a later saga',
      (key) => put({ ...key, state: 'pending', saga: { entry: 'another' }, lease_until: 0 }),
    ],
  ])('removes an entry whose record %s', async (_, change) => {
    const { record } = await leavePending()
    await change(record)
    runtime.clock.advance(minAgeMilliseconds)
    expect(await sweep()).toMatchObject({ finished: 1, left: 0 })
    expect(itemsOf(runtime, 'pending-saga')).toEqual([])
    expect(provider.calls).toEqual([])
  })

  test('counts what a decision of the tenant refuses apart from what fails', async () => {
    const { clock } = runtime
    const down = fail('DEPENDENCY.unavailable')
    const refused = fail('DEPENDENCY.unavailable', { refusedByTenant: true })
    const faults = [refused, down, refused]
    const entries = faults.map((fault) => ({ tenant: 'acme', fault }))
    const worked = workInTurns(entries, { clock, until: clock.now() + 1 }, async ({ fault }) => {
      throw fault
    })
    expect(await worked).toEqual({ finished: 0, left: 1, refused: 2, fault: down })
  })

  test('counts those that it tries again later among the pending ones of their tenant', async () => {
    await leaveOverdue(maxPendingSagas)
    // So many ids of one millisecond are ahead of it.
    runtime.clock.advance(1000)
    provider.conducts = Array.from({ length: maxPendingSagas }, () => 'down')
    for (const left of [maxPendingSagas, 0]) {
      expect(await sweep()).toMatchObject({ finished: 0, left })
      expect(await runtime.table.get(backloggedTenantsKey)).toMatchObject({ tenants: ['acme'] })
    }
  })

  test('works on eight sagas at a time', async () => {
    await leaveOverdue(12)
    const { promise, resolve } = Promise.withResolvers<void>()
    provider.hold = promise
    provider.conducts = Array.from({ length: 12 }, () => 'slow')
    const swept = sweep()
    // A table in memory takes no time: all that can begin has begun after this.
    await new Promise(setImmediate)
    expect(provider.calls).toHaveLength(8)
    resolve()
    expect(await swept).toMatchObject({ finished: 12, left: 0 })
  })

  test.each([
    ['starts no saga after fifteen seconds', 15_000, { finished: 8, left: 1 }],
    ['can still finish a saga that starts after almost fifteen seconds', 14_999, { finished: 9, left: 0 }],
  ])('%s', async (_, milliseconds, swept) => {
    await leaveOverdue(9)
    provider.afterPay = () => {
      if (provider.calls.length === 8) runtime.clock.advance(milliseconds)
      if (provider.calls.length === 9) runtime.clock.advance(9_000)
    }
    expect(await sweep()).toMatchObject(swept)
  })

  test('has the correlation of the request', async () => {
    await leaveOverdue()
    let seen: unknown
    const endpoint = payEndpoint(provider)
    await sweep([
      {
        ...endpoint,
        saga: (context) => {
          seen = context.correlation
          return endpoint.saga?.(context) as Saga
        },
      },
    ])
    expect(seen).toEqual({ id: 'corr-1', trace: {} })
  })

  /** Returns the positions of sagas in the order in which they are finished. */
  async function orderOf(tenants: string[], jitters: number[]): Promise<number[]> {
    const ids: string[] = []
    for (const tenant of tenants) ids.push((await leavePending({ tenant })).payment.id)
    runtime.clock.advance(minAgeMilliseconds)
    await sweep([payEndpoint(provider)], { ...runtime.clock, jitter: () => jitters.shift() ?? 0 })
    return provider.calls.map((key) => ids.indexOf(key.slice('key-'.length)))
  }

  test('finishes the sagas of a tenant in the order in which they are due', async () => {
    expect(await orderOf(['acme', 'acme', 'acme'], [])).toEqual([0, 1, 2])
  })

  test('lets tenants take turns, in random order', async () => {
    expect(await orderOf(['busy', 'busy', 'busy', 'quiet'], [0.9, 0.1])).toEqual([3, 0, 1, 2])
  })
})

function put(item: Item) {
  return runtime.table.put({ item, condition: 'none' })
}
