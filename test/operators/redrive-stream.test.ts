import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda'
import { eraseOrder } from '#bin/commands/tenants/erase-order.ts'
import { systemClock } from '#shared/platform/base/clock.ts'
import type { PublishedEvent } from '#shared/platform/events/outbox.ts'
import { type Key, keyOf } from '#shared/platform/table/keys.ts'
import { inboxKey } from '#shared/webhooks/inbox.ts'
import type { Call } from '#test/faults/faults.ts'
import { fakeSentAt } from '#test/support/fake-queue.ts'
import { naming } from '#test/support/naming.ts'
import { placeOrder } from '#test/support/place-order.ts'
import { handleReceived, receiveEvent, sendEvent } from '#test/support/received-events.ts'
import { eventOf } from '#test/support/signed-events.ts'
import { around, messageOf, startRedriving } from './redriving.ts'

const redriving = await startRedriving()
const {
  service,
  stream,
  proxy,
  dead,
  published,
  queued,
  refused,
  handlers,
  redrive,
  redriveWindow,
  place,
  receive,
} = redriving
beforeEach(() => redriving.reset())
/** Items whose events no later test can rebuild. They are removed after their test, also if it fails. */
const unbuildable: Key[] = []
afterEach(async () => {
  const removals = unbuildable.splice(0).map((remove) => ({ remove, condition: 'none' as const }))
  if (removals.length > 0) await service.table.transact(removals)
})
afterAll(() => redriving.stop())

const giveUp = (records: readonly DynamoDBRecord[], changes?: object) =>
  dead.put(messageOf(stream, records, changes))
const publishedIds = () => published().map(({ type, data }) => `${type} ${data.id}`)
const ofOrders = (ids: readonly string[]) =>
  ids.flatMap((id) => [`order.created ${id}`, `order.placed ${id}`])

describe('failed changes of the relay', () => {
  test('are published after a redrive, and nothing else; their messages are deleted', async () => {
    const ids = await place(9)
    const records = await stream.read()
    giveUp(around(records, ids.slice(1, 4)))
    giveUp(around(records, ids.slice(6, 7)))
    expect(await redrive()).toEqual({
      messages: 2,
      from_stream: 4,
      from_table: 0,
      left: 0,
      lost: 0,
      faults: [],
    })
    expect(publishedIds()).toEqual(ofOrders([...ids.slice(1, 4), ...ids.slice(6, 7)]))
    expect(dead.left()).toEqual([])
    expect(await redrive()).toMatchObject({ messages: 0, left: 0 })
  })

  test('keep their event ids, so already published events are duplicates of the same event', async () => {
    const ids = await place(2)
    const records = await stream.read()
    await handlers.outbox({ Records: records } as DynamoDBStreamEvent)
    const before = published()
    giveUp(around(records, ids))
    await redrive()
    expect(published().slice(before.length)).toEqual(before.filter(({ data }) => ids.includes(data.id)))
  })

  test('stay in the queue while they fail, without affecting others', async () => {
    const ids = await place(4)
    const records = await stream.read()
    for (const id of ids) giveUp(around(records, [id]))
    refused.add(ids[1] as string)
    const { faults, ...numbers } = await redrive()
    expect(numbers).toMatchObject({ messages: 3, left: 1, from_table: 0 })
    expect(faults).toHaveLength(1)
    expect(dead.left()).toHaveLength(1)
    expect(publishedIds()).toEqual(ofOrders(ids.filter((id) => !refused.has(id))))
    refused.clear()
    expect(await redrive()).toMatchObject({ messages: 1, left: 0 })
    expect(publishedIds().slice(-2)).toEqual(ofOrders([ids[1] as string]))
  })

  test('in unreadable messages stay in the queue, without affecting others', async () => {
    const ids = await place(1)
    for (const body of ['not JSON', {}, messageOf(stream, [], { startSequenceNumber: 'first' })])
      dead.put(body)
    giveUp(around(await stream.read(), ids))
    expect(await redrive()).toMatchObject({ messages: 1, left: 3 })
    expect(publishedIds()).toEqual(ofOrders(ids))
    expect(dead.left()).toHaveLength(3)
  })

  test('of one message are split into several events if they exceed the size of one', async () => {
    const ids = await place(120)
    giveUp(around(await stream.read(), ids))
    expect(await redrive()).toMatchObject({ messages: 1, from_stream: 120 })
    expect(publishedIds()).toEqual(ofOrders(ids))
  })
})

describe('changes with an event that this release does not know', () => {
  test('are set aside by the relay without stopping the stream, and stay in the queue until a release knows it', async () => {
    const key = { pk: 'order#t#0', sk: crypto.randomUUID() }
    unbuildable.push(key)
    const outbox = { at: Date.now(), correlation_id: 'c', events: ['order.shipped.v1'] }
    await service.table.put({ item: { ...key, email: 'jane@example.com', outbox }, condition: 'none' })
    const ids = await place(1)
    const records = around(await stream.read(), [key.sk, ...ids])
    const handled = await handlers.outbox({ Records: records } as DynamoDBStreamEvent)
    expect([handled.batchItemFailures, publishedIds()]).toEqual([[], ofOrders(ids)])
    expect(dead.left()).toEqual([expect.stringContaining('order.shipped')])
    expect(dead.left().join()).not.toContain('jane@example.com')
    redriving.reset()
    dead.put({ reason: 'this release does not know order.shipped.v1', change: records[0] })
    const { faults, ...numbers } = await redrive()
    expect(numbers).toMatchObject({ messages: 0, from_stream: 0, left: 1, lost: 1 })
    expect(faults).toEqual([`${key.pk} ${key.sk}: this release does not know order.shipped.v1`])
  })

  test('are published from their message once it is known, with the data of their time', async () => {
    const [id = ''] = await place(1)
    const [change] = around(await stream.read(), [id])
    await eraseOrder({ table: service.table, clock: systemClock, name: 'jane' }, 'redriven', id)
    unbuildable.push(keyOf('redriven', 'order', id))
    dead.put({ reason: 'an older release did not know it', change })
    expect(await redrive()).toMatchObject({ messages: 1, from_stream: 1, left: 0, lost: 0 })
    expect(publishedIds()).toEqual(ofOrders([id]))
  })

  test('are not handled again and again if the function is of an older release', async () => {
    const [id = ''] = await place(1)
    const [change] = around(await stream.read(), [id])
    const letter = { reason: 'this release does not know order.created.v1', change }
    dead.put(letter)
    dead.put(letter)
    const { faults, ...numbers } = await redrive('outbox', () => fakeSentAt)
    expect(numbers).toMatchObject({ messages: 1, left: 1 })
    expect(faults).toEqual([`the function of an older release set it aside: ${letter.reason}`])
  })

  test('that were set aside twice, because the stream delivered them again, are harmless', async () => {
    const [id = ''] = await place(1)
    const [change] = around(await stream.read(), [id])
    for (let n = 0; n < 2; n += 1) dead.put({ reason: 'an older release did not know it', change })
    expect(await redrive()).toMatchObject({ messages: 2, left: 0 })
    expect(new Set(published().map(({ event_id }) => event_id)).size).toBe(2)
  })

  test('are named and stay in the queue, and the others are published', async () => {
    const events = ['order.shipped.v1']
    const key = { pk: 'order#t#0', sk: crypto.randomUUID() }
    const [before = ''] = await place(1)
    const outbox = { at: Date.parse('2026-01-01T00:00:00Z'), correlation_id: 'c', events }
    await service.table.put({ item: { ...key, id: key.sk, outbox }, condition: 'none' })
    const [after = ''] = await place(1)
    giveUp(around(await stream.read(), [before, after]))
    const { faults, ...numbers } = await redrive()
    expect(numbers).toMatchObject({ messages: 0, from_stream: 2, left: 1, lost: 1 })
    expect(faults).toEqual([`order#t#0 ${key.sk}: this release does not know order.shipped.v1`])
    expect(publishedIds()).toEqual(ofOrders([before, after]))
    expect(dead.left()).toHaveLength(1)
  })
})

describe('changes that the stream no longer has', () => {
  const gone = { shardId: 'shardId-00000001573689847184-864758bb' }
  const outbox = (at: string) => ({
    at: Date.parse(at),
    correlation_id: 'c',
    events: ['order.created.v1'],
  })

  test('are rebuilt from the table: the events of the period, with their ids, and no others', async () => {
    const ids = await place(5)
    const records = await stream.read()
    await handlers.outbox({ Records: records } as DynamoDBStreamEvent)
    const before = published()
    redriving.reset()
    for (const minutes of [-10, 10]) {
      const at = new Date(Date.now() + minutes * 60_000).toISOString()
      await service.table.put({ item: { pk: 'order#t#0', sk: at, outbox: outbox(at) }, condition: 'none' })
    }
    giveUp(around(records, ids.slice(0, 2)), gone)
    giveUp(around(records, ids.slice(3)), gone)
    const { from_table, ...numbers } = await redrive()
    expect(numbers).toEqual({ messages: 2, from_stream: 0, left: 0, lost: 0, faults: [] })
    expect(from_table).toBeGreaterThanOrEqual(5)
    const ours = (events: PublishedEvent[]) => events.filter(({ data }) => ids.includes(data.id))
    const byId = (one: PublishedEvent, other: PublishedEvent) => (one.event_id < other.event_id ? -1 : 1)
    expect(ours(published()).toSorted(byId)).toEqual(ours(before).toSorted(byId))
    expect(publishedIds().filter((one) => /order.created 20/.test(one))).toEqual([])
    expect(dead.left()).toEqual([])
  })

  test('in part are read from the stream and from the table', async () => {
    const ids = await place(2)
    const records = around(await stream.read(), ids)
    const trimmed = {
      when: ({ operation }: Call) => operation === 'GetShardIterator',
      fault: 'trimmed' as const,
    }
    proxy.inject(trimmed)
    giveUp(records)
    const { from_stream, from_table, faults } = await redrive()
    expect(faults).toEqual([])
    expect(from_stream).toBe(2)
    expect(from_table).toBeGreaterThanOrEqual(2)
    expect(publishedIds()).toEqual(expect.arrayContaining(ofOrders(ids)))
  })

  test('at all are rebuilt from the table, even if the shard still exists', async () => {
    const ids = await place(2)
    giveUp(around(await stream.read(), ids))
    proxy.inject({
      when: ({ operation }) => operation === 'GetShardIterator' || operation === 'GetRecords',
      times: Number.POSITIVE_INFINITY,
      fault: 'trimmed',
    })
    expect(await redrive()).toMatchObject({ messages: 1, from_stream: 0, left: 0 })
    expect(publishedIds()).toEqual(expect.arrayContaining(ofOrders(ids)))
  })

  test('are distinguished from a throttled stream, whose message stays', async () => {
    const ids = await place(1)
    giveUp(around(await stream.read(), ids))
    proxy.inject({ when: () => true, times: Number.POSITIVE_INFINITY, fault: 'internal' })
    expect(await redrive()).toMatchObject({ messages: 0, from_table: 0, left: 1 })
    expect([publishedIds(), dead.left().length]).toEqual([[], 1])
  })

  test('and were followed by others are rebuilt if they created their item', async () => {
    const [id = ''] = await place(1)
    const records = await stream.read()
    await handlers.outbox({ Records: records } as DynamoDBStreamEvent)
    const created = published().filter(({ data }) => data.id === id)
    redriving.reset()
    await receiveEvent(service, eventOf('order.paid', { id, tenant_id: 'redriven' }))
    giveUp(around(records, [id]), gone)
    expect(await redrive()).toMatchObject({ messages: 1, lost: 0 })
    expect(published().filter(({ data }) => data.id === id)).toMatchObject([
      ...created,
      { type: 'order.paid' },
    ])
  })

  test('are published with the data of their time: a refund that succeeded, although it was reversed since', async () => {
    const tenant_id = 'redriven'
    const body = { charge_id: 'ch_pending_redriven', amount: 500 }
    const { json } = await service.call({
      method: 'POST',
      path: '/v1/refunds',
      as: { tenant: tenant_id, role: 'Editor' },
      headers: { 'Idempotency-Key': 'redriven' },
      body,
    })
    const report = (type: string, ago: number) =>
      receiveEvent(service, {
        ...eventOf(type, { id: json.id, tenant_id }),
        occurred_at: new Date(Date.now() - ago).toISOString(),
      })
    await report('refund.succeeded', 2000)
    await report('refund.failed', 1000)
    const [refund] = (await service.items(tenant_id, 'refund')).filter(({ id }) => id === json.id)
    expect(refund?.status).toBe('reversed')
    giveUp(around(await stream.read(), [json.id]), gone)
    await redrive()
    const ours = published().filter(({ data }) => data.id === json.id)
    expect(ours).toMatchObject([{ type: 'refund.succeeded', data: { status: 'succeeded', amount: 500 } }])
  })

  test('and were replaced by later events are named, and their message stays', async () => {
    const replaced = new Date(Date.now() - 1000).toISOString()
    const key = { pk: 'cart#t#0', sk: 'replaced' }
    unbuildable.push(key)
    const changed = { ...outbox(new Date().toISOString()), id: 'b', replaced: [Date.parse(replaced)] }
    await service.table.put({ item: { ...key, outbox: changed }, condition: 'none' })
    const ids = await place(1)
    giveUp(around(await stream.read(), ids), gone)
    const { faults, ...numbers } = await redrive()
    expect(numbers).toMatchObject({ messages: 0, left: 1, lost: 1 })
    expect(faults).toEqual([expect.stringMatching(naming(`cart#t#0 … replaced … ${replaced}`))])
    expect(publishedIds()).toEqual(expect.arrayContaining(ofOrders(ids)))
  })

  test('of an erased order are named', async () => {
    const [id = ''] = await place(1)
    unbuildable.push(keyOf('redriven', 'order', id))
    const records = await stream.read()
    await eraseOrder({ table: service.table, clock: systemClock, name: 'jane' }, 'redriven', id)
    giveUp(around(records, [id]), gone)
    const { faults, lost } = await redrive()
    expect(lost).toBe(1)
    expect(faults[0]).toMatch(naming(id))
  })

  test('stay in the queue while the function fails', async () => {
    const ids = await place(1)
    giveUp(around(await stream.read(), ids), gone)
    refused.add(ids[0] as string)
    expect(await redrive()).toMatchObject({ messages: 0, left: 1 })
    expect(dead.left()).toHaveLength(1)
    refused.clear()
    expect(await redrive()).toMatchObject({ messages: 1, left: 0 })
    expect(publishedIds()).toEqual(expect.arrayContaining(ofOrders(ids)))
  })

  test('with tasks are queued again if the tasks are not done', async () => {
    const [waiting, handled] = [await receive(), await receive()]
    const task = { queue: 'webhooks', body: 'without a state', group: 'acme' }
    await service.table.put({ item: { pk: 'inbox#t', sk: 'reset', task }, condition: 'none' })
    const over = { ...task, body: 'over' }
    const expires_at = Math.floor(Date.now() / 1000) - 1
    await service.table.put({
      item: { pk: 'inbox#t', sk: 'over', task: over, expires_at },
      condition: 'none',
    })
    const records = await stream.read()
    await handleReceived(service, handled)
    giveUp(around(records, [waiting, handled]), gone)
    expect(await redrive('tasks')).toMatchObject({ messages: 1, from_stream: 0, left: 0 })
    expect(queued).toEqual(expect.arrayContaining([waiting, task.body]))
    for (const done of [handled, over.body]) expect(queued).not.toContain(done)
  })
})

describe('a time without dead letters', () => {
  const around = (at: string) => ({
    from: new Date(Date.parse(at) - 1000),
    to: new Date(Date.parse(at) + 1000),
  })

  /** Stores an item whose events were never published. */
  async function unpublished(at: string): Promise<void> {
    const events = ['order.created.v1']
    const outbox = { at: Date.parse(at), correlation_id: 'c', events }
    await service.table.put({ item: { pk: 'order#t#0', sk: at, outbox }, condition: 'none' })
  }

  test('is published again, with the ids of its events, and no other time is', async () => {
    await unpublished('2026-01-10T12:00:00.000Z')
    await unpublished('2026-01-12T12:00:00.000Z')
    expect(await redriveWindow(around('2026-01-10T12:00:00.000Z'))).toEqual({ from_table: 1, lost: [] })
    expect(publishedIds()).toEqual(['order.created 2026-01-10T12:00:00.000Z'])
  })

  test('keeps the ids of its events when it is published twice', async () => {
    await unpublished('2026-01-14T12:00:00.000Z')
    for (let n = 0; n < 2; n += 1) await redriveWindow(around('2026-01-14T12:00:00.000Z'))
    expect(new Set(published().map(({ event_id }) => event_id)).size).toBe(1)
  })

  test('fails if the bus rejects an event', async () => {
    const at = '2026-01-16T12:00:00.000Z'
    await unpublished(at)
    refused.add(at)
    await expect(redriveWindow(around(at))).rejects.toThrow()
  })

  test('queues the tasks that are not done, because a task has no time', async () => {
    const waiting = await receive()
    await redriveWindow(around('2026-01-10T12:00:00.000Z'), 'tasks')
    expect(queued).toContain(waiting)
  })

  test('queues an event that a restored table has as received, although it was handled since', async () => {
    const order = (await placeOrder(service, 'restored')).json
    const event = eventOf('order.paid', { id: order.id, tenant_id: 'restored' })
    await sendEvent(service, event)
    const restored = await service.table.getMany([
      keyOf('restored', 'order', order.id),
      inboxKey(event.event_id),
    ])
    await handleReceived(service, event.event_id)
    for (const item of restored) await service.table.put({ item, condition: 'none' })
    await redriveWindow(around('2026-01-10T12:00:00.000Z'), 'tasks')
    const [again = ''] = queued.filter((body) => body === event.event_id)
    expect(await handleReceived(service, again)).toBe('handled')
  })
})

test('failed tasks are queued again from the stream', async () => {
  const ids = [await receive(), await receive(), await receive()]
  giveUp(around(await stream.read(), ids.slice(0, 2)))
  expect(await redrive('tasks')).toMatchObject({ messages: 1, from_stream: 2, from_table: 0, left: 0 })
  expect(queued).toEqual(ids.slice(0, 2))
})
