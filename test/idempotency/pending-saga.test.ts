import { beforeEach, describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { type Failure, fail } from '#shared/platform/base/failure.ts'
import { asIdempotencyRecord, type PendingRecord } from '#shared/platform/idempotency/idempotency-record.ts'
import { hastenSaga, type SagaEntry } from '#shared/platform/idempotency/pending-saga.ts'
import { runOnce, takeOver } from '#shared/platform/idempotency/run-once.ts'
import { entryAt, idOfEntry } from '#shared/platform/table/keys.ts'
import { connectionError, type MemoryRuntime, memoryRuntime } from '#test/support/memory-runtime.ts'
import { runs } from '#test/support/runs.ts'
import { codeOf, itemsOf, recordIn, runOf, scriptedSaga } from './scripted-run.ts'

/** The entry of a pending saga is where its record says, whatever happens, and is due after a pause that grows with its age. */

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

let runtime: MemoryRuntime
let respond: () => unknown
beforeEach(newRuntime)
function newRuntime() {
  runtime = memoryRuntime({ 'idempotency.whilePending': { waitSeconds: 0, status: 503 } })
  respond = () => {
    throw fail('DEPENDENCY.unavailable')
  }
}

const run = () => runOf(runtime, scriptedSaga(runtime, { finishedBy: 'service', execute: () => respond() }))
const request = () => codeOf(runOnce(run()))
const record = () => asIdempotencyRecord(recordIn(runtime) as never)
const pending = () => record() as PendingRecord
const resume = () => codeOf(takeOver(run(), pending()))
const entries = () => itemsOf(runtime, 'pending-saga') as unknown as SagaEntry[]
const entry = () => entries()[0] as SagaEntry
const duePast = () => Date.parse(entry().sk.split('#')[0] ?? '') - runtime.clock.now()

describe('the entry of a pending saga', () => {
  test('is due a minute after the start, and not earlier if its caller retries', async () => {
    await request()
    expect(duePast()).toBe(minute)
    runtime.clock.advance(30_000)
    await request()
    expect(duePast()).toBe(minute)
    expect(entries().map(({ sk }) => sk)).toEqual([pending().saga.entry])
  })

  test.each([
    [1, 1],
    [8, 2],
    [120, 30],
    [4320, 60],
  ])('moves in the transaction that takes the lease: after %i minutes by %i', async (age, pause) => {
    await request()
    runtime.clock.advance(age * minute)
    let seen = 0
    respond = () => {
      seen = duePast()
      expect(pending().saga.entry).toBe(entry().sk)
      throw fail('DEPENDENCY.unavailable')
    }
    await resume()
    expect(seen).toBe(pause * minute)
  })

  test('keeps its partition, its id and what it says', async () => {
    await request()
    const before = entry()
    runtime.clock.advance(8 * minute)
    await resume()
    expect(entry()).toEqual({
      ...before,
      sk: entryAt(runtime.clock.now() + 2 * minute, idOfEntry(before.sk)),
    })
  })

  test('is written twice more by a take-over, and not at all by a saga that ends at once', async () => {
    const writes: string[] = []
    runtime.beforeCall = ({ input }) => {
      const text = JSON.stringify(input)
      writes.push(
        ...[...text.matchAll(/"(remove|item)":\{"pk":"pending-saga/g)].map(([, kind]) => String(kind)),
      )
    }
    respond = () => {}
    await request()
    expect(writes).toEqual(['item', 'remove'])
    newRuntime()
    await request()
    runtime.clock.advance(minute)
    runtime.beforeCall = ({ input }) => {
      writes.push(JSON.stringify(input).includes('"pending-saga') ? 'moved' : 'other')
    }
    writes.length = 0
    await resume()
    expect(writes).toEqual(['moved', 'other'])
  })
})

describe('a saga that a decision of its tenant refuses', () => {
  const refuse = () => {
    respond = () => {
      throw fail('DEPENDENCY.unavailable', { refusedByTenant: true })
    }
  }

  test.each([
    ['for less than a day is tried each hour', day - 1, hour],
    ['for a day is tried again after 23 hours', day, 23 * hour],
  ])('%s', async (_, age, pause) => {
    await request()
    const due = duePast()
    refuse()
    runtime.clock.advance(due - minute + age)
    expect(await resume()).toBe('DEPENDENCY.unavailable')
    expect(duePast()).toBe(pause)
    expect(pending()).toMatchObject({ lease_until: 0, saga: { entry: entry().sk } })
    expect(entries()).toHaveLength(1)
  })

  test('is tried each hour again once the refusal ends', async () => {
    await request()
    refuse()
    runtime.clock.advance(day)
    await resume()
    respond = () => {
      throw fail('DEPENDENCY.timeout')
    }
    runtime.clock.advance(23 * hour)
    await resume()
    expect(duePast()).toBe(hour)
  })
})

describe('a saga that an operator lets the sweep try now', () => {
  test('is due at once', async () => {
    await request()
    runtime.clock.advance(10_000)
    await hastenSaga(entry(), runtime)
    expect(duePast()).toBe(0)
    expect(pending().saga.entry).toBe(entry().sk)
  })

  test('stays where it is while a run holds its lease', async () => {
    respond = () => hastenSaga(entry(), runtime)
    let seen = 0
    respond = async () => {
      await hastenSaga(entry(), runtime)
      seen = duePast()
      throw fail('DEPENDENCY.unavailable')
    }
    await request()
    expect(seen).toBe(minute)
  })

  test('loses an entry without a pending record', async () => {
    await request()
    const before = entry()
    respond = () => {}
    await resume()
    await runtime.table.put({ item: { ...before }, condition: 'none' })
    await hastenSaga(before, runtime)
    expect(entries()).toEqual([])
  })

  test('is not ended by a run whose lease had expired', async () => {
    let paid = 0
    respond = async () => {
      paid += 1
      if (paid > 1) return
      runtime.clock.advance(31_000)
      await hastenSaga(entry(), runtime)
    }
    expect(await request()).toBe('[object Object]')
    expect(paid).toBe(2)
    expect(record().state).toBe('complete')
    expect(entries()).toEqual([])
  })
})

type Step = 'request' | 'resume' | 'hasten' | 'pay' | 'refuse' | 'fail' | 'wait' | 'wait a day'

test('there is one entry, where the pending record says, after any steps and faults', async () => {
  const steps = fc.constantFrom<Step[]>(
    ...(['request', 'resume', 'hasten', 'pay', 'refuse', 'fail', 'wait', 'wait a day'] as const),
  )
  const faults = fc.constantFrom('none', 'none', 'before', 'after')
  const plan = fc.array(fc.record({ step: steps, fault: faults, at: fc.nat(4) }), { maxLength: 14 })
  await fc.assert(
    fc.asyncProperty(plan, async (all) => {
      newRuntime()
      for (const { step, fault, at } of all) {
        let calls = 0
        // From this call on, the process is dead.
        const die = (hook: string) => () => {
          if (hook === fault && calls++ >= at) throw connectionError()
        }
        runtime.beforeCall = die('before')
        runtime.afterCall = die('after')
        await act(step).catch((thrown: Failure) => thrown)
        runtime.beforeCall = () => {}
        runtime.afterCall = () => {}
        const stored = recordIn(runtime) as unknown as PendingRecord | undefined
        const expected = stored?.state === 'pending' ? [stored.saga.entry] : []
        expect(entries().map(({ sk }) => sk)).toEqual(expected)
      }
    }),
    runs(500),
  )

  async function act(step: Step): Promise<unknown> {
    if (step === 'request') return request()
    if (step === 'wait' || step === 'wait a day') return runtime.clock.advance(step === 'wait' ? minute : day)
    if (step === 'pay') respond = () => {}
    if (step === 'fail') newResponse(fail('DEPENDENCY.timeout'))
    if (step === 'refuse') newResponse(fail('DEPENDENCY.unavailable', { refusedByTenant: true }))
    if (recordIn(runtime)?.state !== 'pending') return undefined
    return step === 'hasten' ? hastenSaga(entry(), runtime) : resume()
  }

  function newResponse(thrown: Failure): void {
    respond = () => {
      throw thrown
    }
  }
})
