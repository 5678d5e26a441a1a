import { beforeEach, describe, expect, test } from '@jest/globals'
import { commit } from '#shared/platform/idempotency/commit.ts'
import { commitDecision } from '#shared/platform/idempotency/commit-decision.ts'
import type { Revisable } from '#shared/platform/idempotency/decision.ts'
import type { Item } from '#shared/platform/table/keys.ts'
import { create, put, remove, type Write } from '#shared/platform/table/table.ts'
import { memoryRuntime } from '#test/support/memory-runtime.ts'
import { actor, codeOf, itemsOf } from './scripted-run.ts'

interface Decision extends Revisable<Decision> {
  name?: string
}

const one: Item = { pk: 'order#acme#0', sk: '1' }
const two: Item = { pk: 'order#acme#0', sk: '2' }
const guard = { item: { pk: 'guard', sk: '1', mine: true }, condition: { absent: true } as const }
const event = {
  name: 'order.created.v1',
  carriers: ['order'] as const,
  data: { id: '1', tenant_id: 'acme', status: 'new' },
}

let runtime: ReturnType<typeof memoryRuntime>
let context: Parameters<typeof commit>[0]
let calls: number
beforeEach(() => {
  runtime = memoryRuntime()
  calls = 0
  runtime.beforeCall = () => {
    calls += 1
  }
  const correlation = { id: 'corr-1', trace: { traceparent: 'trace-1' } }
  context = { table: runtime.table, clock: runtime.clock, caller: actor, correlation }
})
const commitOf = (decision: Decision, changes = {}) =>
  commitDecision(context, decision, (result) => ({ result, ...changes }))
const exists = async (...items: Item[]) => {
  for (const item of items) await runtime.table.put({ item, condition: 'none' })
}

describe('a commit', () => {
  test('without effects calls no table', async () => {
    await commit(context, {})
    expect(calls).toBe(0)
  })

  test('is one transaction, also if a write conflicts: it returns the write and the existing item', async () => {
    await exists({ ...two, color: 'red' })
    calls = 0
    const writes = [create(one), create(two)]
    expect(await commit(context, { writes }, { guard })).toEqual({
      write: writes[1],
      existing: { ...two, color: 'red' },
    })
    expect(calls).toBe(1)
  })

  test('writes all or nothing', async () => {
    await exists(two)
    await expect(commitOf({ writes: [create(one), create(two)] })).rejects.toThrow()
    expect(runtime.store.all()).toEqual([two])
  })

  test('is one transaction with the changes of the platform', async () => {
    const others = [{ item: two, condition: 'none' }]
    await commitOf({ writes: [create(one)] }, { guard, others })
    expect(runtime.store.all()).toEqual([guard.item, one, two])
    expect(calls).toBe(1)
  })

  test.each([
    ['without a guard', {}],
    ['behind a guard', { guard }],
  ])('fails with the error of the write that was rejected, %s', async (_, changes) => {
    await exists(two)
    const writes = [create(one, 'CONFLICT.soft_deleted'), create(two, 'POLICY.refund.repeated')]
    expect(await codeOf(commitOf({ writes }, changes))).toBe('POLICY.refund.repeated')
  })

  test('fails as unexpected if a change of the platform was rejected', async () => {
    await exists(two)
    const others = [{ item: two, condition: { absent: true } }]
    expect(await codeOf(commitOf({ writes: [create(one, 'CONFLICT.soft_deleted')] }, { others }))).toBe(
      'INTERNAL.unexpected',
    )
  })

  test('without writes fails as unexpected if a change of the platform was rejected', async () => {
    await exists(two)
    const others = [{ item: two, condition: { absent: true } }]
    expect(await codeOf(commitOf({}, { others }))).toBe('INTERNAL.unexpected')
  })

  test('returns the existing item if its guard was rejected', async () => {
    await exists({ ...guard.item, mine: false })
    const result = await commitOf({ writes: [create(one)] }, { guard })
    expect(result).toEqual({ existing: { ...guard.item, mine: false } })
  })

  test('is transient if its guard expected an item that is gone', async () => {
    const gone = { ...guard, condition: { matches: { mine: 'yes' } } }
    expect(await codeOf(commitOf({}, { guard: gone }))).toBe('TRANSIENT.error')
  })
})

describe('a decision', () => {
  test('is returned as it is rendered', async () => {
    const result = { response: 'x' }
    expect(await commitDecision(context, { writes: [create(one)] }, () => ({ result }))).toEqual({ result })
  })

  test('that cannot be rendered is not committed, also after a conflict', async () => {
    const fault = new TypeError('a response that violates its schema')
    const render = ({ name }: Decision) => {
      if (name === undefined) throw fault
      return { result: name }
    }
    await expect(commitDecision<Decision, string>(context, { writes: [create(one)] }, render)).rejects.toBe(
      fault,
    )
    expect(runtime.store.all()).toEqual([])
    await exists(one)
    const onConflict = async () => ({ writes: [create(two)] })
    const first = { name: 'first', writes: [create(one)], onConflict }
    await expect(commitDecision<Decision, string>(context, first, render)).rejects.toBe(fault)
    expect(runtime.store.all()).toEqual([one])
  })
})

describe('a decision that conflicts', () => {
  test('is decided again with the existing item', async () => {
    await exists({ ...one, color: 'red' })
    const seen: unknown[] = []
    const onConflict = async (existing: unknown) => {
      seen.push(existing)
      return { name: 'second', writes: [create(two)] }
    }
    const result = await commitOf({ writes: [create(one)], onConflict })
    expect(result).toMatchObject({ result: { name: 'second' } })
    expect(seen).toEqual([{ ...one, color: 'red' }])
  })

  test('is decided again behind a guard, too', async () => {
    await exists(one)
    const onConflict = async () => ({ name: 'second' })
    const result = await commitOf({ writes: [create(one)], onConflict }, { guard })
    expect(result).toMatchObject({ result: { name: 'second' } })
    expect(itemsOf(runtime, 'guard')).toHaveLength(1)
  })

  test('is not decided again if it only checked the item, on which no decision depends', async () => {
    await exists({ ...one, held: 'yes' })
    const check: Write = { check: one, condition: { absent: true }, onFailure: 'CONFLICT.soft_deleted' }
    const onConflict = async () => ({ name: 'second' })
    expect(await codeOf(commitOf({ writes: [check], onConflict }))).toBe('CONFLICT.soft_deleted')
  })

  test('is not decided again if a change of the platform was rejected', async () => {
    await exists(two)
    const others = [{ item: two, condition: { absent: true } }]
    const onConflict = async () => ({ name: 'second' })
    expect(await codeOf(commitOf({ writes: [create(one)], onConflict }, { others }))).toBe(
      'INTERNAL.unexpected',
    )
  })

  test('is decided at most 20 times, with growing pauses from the second conflict on', async () => {
    await exists(one)
    const slept: number[] = []
    context = {
      ...context,
      clock: { ...runtime.clock, jitter: () => 0.5, sleep: async (ms) => void slept.push(ms) },
    }
    let decided = 1
    const again = (): Decision => ({
      writes: [create(one, 'CONFLICT.soft_deleted')],
      async onConflict() {
        decided += 1
        return again()
      },
    })
    expect(await codeOf(commitOf(again()))).toBe('CONFLICT.soft_deleted')
    expect(decided).toBe(20)
    expect(slept).toEqual([20, 40, 80, ...Array(15).fill(100)])
  })
})

describe('the events of a decision', () => {
  test('are carried by its first write', async () => {
    await commitOf({ writes: [put(one), put(two)], events: [event] })
    expect(runtime.store.all()).toEqual([
      {
        ...one,
        outbox: {
          id: expect.any(String),
          at: runtime.clock.now(),
          correlation_id: 'corr-1',
          traceparent: 'trace-1',
          events: [{ name: event.name, data: { status: 'new' } }],
        },
      },
      two,
    ])
  })

  test('keep the condition of the write', async () => {
    await exists(one)
    expect(await codeOf(commitOf({ writes: [create(one, 'CONFLICT.soft_deleted')], events: [event] }))).toBe(
      'CONFLICT.soft_deleted',
    )
  })

  test.each<[string, Decision]>([
    ['without a write', { events: [event] }],
    ['behind a write that is no put', { writes: [remove(one, {}, 'TRANSIENT.error')], events: [event] }],
  ])('are a mistake of the code %s', async (_, decision) => {
    await expect(commitOf(decision)).rejects.toThrow('carried by a put')
  })

  test('are absent from a write without events', async () => {
    await commitOf({ writes: [put(one)], events: [] })
    expect(runtime.store.all()).toEqual([one])
  })
})

describe('the audit of a decision', () => {
  const audit = { action: 'refunds.create', target: 'refund/1' }

  test('is committed with its writes, by the caller', async () => {
    await commitOf({ writes: [put(one)], audit })
    expect(itemsOf(runtime, 'order')).toHaveLength(1)
    expect(itemsOf(runtime, 'audit')).toMatchObject([{ ...audit, actor_id: 'u1', correlation_id: 'corr-1' }])
  })

  test('names the requester instead, if the decision does', async () => {
    await commitOf({ writes: [put(one)], audit: { ...audit, actor: { ...actor, sub: 'requester' } } })
    expect(itemsOf(runtime, 'audit')).toMatchObject([{ actor_id: 'requester' }])
  })

  test('without anybody who acts is a mistake of the code', async () => {
    context = { ...context, caller: undefined }
    await expect(commitOf({ writes: [put(one)], audit })).rejects.toThrow('has an actor')
    expect(runtime.store.all()).toEqual([])
  })
})
