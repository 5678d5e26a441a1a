import { beforeEach, describe, expect, test } from '@jest/globals'
import * as v from 'valibot'
import { timestamp } from '#shared/platform/base/clock.ts'
import { defineEvent, event as eventOf, subject } from '#shared/platform/events/event-definition.ts'
import type { Outbox, OutgoingEvent, StoredEvent } from '#shared/platform/events/outbox.ts'
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
const event = { name: 'order.created.v1', data: { id: '1', tenant_id: 'acme' } }

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
          events: [event],
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

describe('an event on its item', () => {
  const held = { id: 'id', tenant_id: 'tenant_id' }
  const [id, later] = ['018f0000-0000-8000-8000-000000000000', '018f0000-0000-8000-8000-000000000001']
  const order = { pk: 'order#acme#0', sk: id, id, tenant_id: 'acme', status: 'paid' }
  const data = { id, tenant_id: 'acme' }
  const outbox = () => runtime.store.all()[0]?.outbox as Outbox
  const commitEvents = (item: Item, ...events: OutgoingEvent[]) =>
    commitOf({ writes: [create(item)], events })

  const [name, rest] = ['a.v1', { status: 'new' }]
  const derived = { name, id: expect.any(String) as never }
  test.each<[string, OutgoingEvent, StoredEvent]>([
    ['is its name if the item holds its data', { name, held, data }, name],
    ['has the rest of its data', { name, held, data: { ...data, ...rest } }, { name, rest }],
    [
      'has what the item does not have',
      { name, held, data: { ...data, id: later } },
      { name, rest: { id: later } },
    ],
    ['has its whole data without a definition of what is held', { name, data }, { name, data }],
    ['has its id if that does not depend on the commit', { name, held, data, once: 'x' }, derived],
  ])('%s', async (_, outgoing, stored) => {
    await commitEvents(order, outgoing)
    expect(outbox().events).toEqual([stored])
  })

  test('is stored with its whole data while the previous release cannot build it', async () => {
    const definition = { type: 'a', version: 1, summary: 'A.', data: () => v.strictObject(subject), held }
    expect(eventOf(defineEvent(definition), data)).toEqual({ name: 'a.v1', held, data })
    expect(eventOf(defineEvent({ ...definition, storedWhole: true }), data)).toEqual({ name: 'a.v1', data })
  })

  test('has the trace of its request once, and only if there is one', async () => {
    await commitEvents(order, { name: 'a.v1', held, data }, { name: 'b.v1', held, data })
    expect(outbox()).toEqual({
      at: runtime.clock.now(),
      correlation_id: 'corr-1',
      traceparent: 'trace-1',
      events: ['a.v1', 'b.v1'],
    })
  })

  test('keeps the events of the creation, and the times of events between it and the latest change', async () => {
    await commitEvents(order, { name: 'created.v1', held, data })
    const creation = outbox()
    for (let n = 1; n <= 12; n += 1) {
      const before = runtime.store.all()[0] as Item
      runtime.clock.advance(1000)
      await commitOf({ writes: [put({ ...before, n })], events: [{ name: `changed.v${n}`, held, data }] })
      if (n === 1) expect(outbox().replaced).toBeUndefined()
      if (n === 2) expect(outbox().replaced).toEqual([creation.at + 1000])
    }
    const { at } = creation
    expect(outbox()).toMatchObject({ creation, events: ['changed.v12'], at: at + 12_000 })
    expect(outbox().replaced).toEqual(Array.from({ length: 10 }, (_, n) => at + (n + 2) * 1000))
  })

  test('of an item with an id in its partition key has none of its commit', async () => {
    await commitEvents({ ...order, pk: `mail#${id}`, sk: 'mail' }, { name: 'a.v1', held, data })
    expect(outbox().id).toBeUndefined()
  })

  test('of an item whose key is a name has an id of its commit, because the key may be used again', async () => {
    await commitEvents({ ...order, sk: 'a-name' }, { name: 'a.v1', held, data })
    expect(outbox().id).toMatch(/^[\w-]{8}$/)
  })
})

describe('the audit record of a decision', () => {
  const entry = { action: 'refund', target: 'refund/1' }
  const audited = () => itemsOf(runtime, 'audit')

  test('names the caller and the allowed action', async () => {
    await commitOf({ audit: entry })
    expect(audited()).toEqual([
      {
        pk: expect.stringMatching(/^audit#acme#/),
        sk: expect.any(String),
        ...entry,
        actor_id: 'u1',
        token_sub: 'u1',
        role: 'Editor',
        tenant_id: 'acme',
        result: 'allow',
        reason: 'allowed',
        correlation_id: 'corr-1',
        at: timestamp(runtime.clock.now()),
      },
    ])
  })

  test('names its own actor, tenant, result and reason', async () => {
    const other = { sub: 'u2', tenant: 'head-office', role: undefined }
    await commitOf({
      audit: { ...entry, actor: other, tenant: 'visited', result: 'deny', reason: 'POLICY.refund.declined' },
    })
    expect(audited()).toMatchObject([
      {
        pk: expect.stringMatching(/^audit#visited#/),
        actor_id: 'u2',
        role: 'none',
        tenant_id: 'visited',
        result: 'deny',
        reason: 'POLICY.refund.declined',
      },
    ])
  })

  test('is a mistake of the code without an actor', async () => {
    context = { ...context, caller: undefined }
    await expect(commitOf({ audit: entry })).rejects.toThrow('actor')
  })
})
