import { afterAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda'
import { systemClock } from '#shared/platform/base/clock.ts'
import type { PublishedEvent } from '#shared/platform/events/outbox.ts'
import { handleEvent } from '#shared/webhooks/handle-event.ts'
import type { Call } from '#test/faults/dynamodb-proxy.ts'
import { around, messageOf, startRedriving } from './redriving.ts'

const redriving = await startRedriving()
const { service, stream, proxy, dead, published, queued, refused, handlers, redrive, place, receive } =
  redriving
beforeEach(() => redriving.reset())
afterAll(() => redriving.stop())

const addDeadLetter = (records: readonly DynamoDBRecord[], changes?: object) =>
  dead.put(messageOf(stream, records, changes))
const publishedIds = () => published.map(({ type, data }) => `${type} ${data.id}`)
const ofOrders = (ids: readonly string[]) =>
  ids.flatMap((id) => [`order.created ${id}`, `order.placed ${id}`])

describe('failed batches of the relay', () => {
  test('are published, and only they, and their messages are removed', async () => {
    const ids = await place(9)
    const records = await stream.read()
    addDeadLetter(around(records, ids.slice(1, 4)))
    addDeadLetter(around(records, ids.slice(6, 7)))
    expect(await redrive()).toEqual({ messages: 2, from_stream: 4, from_table: 0, left: 0, faults: [] })
    expect(publishedIds()).toEqual(ofOrders([...ids.slice(1, 4), ...ids.slice(6, 7)]))
    expect(dead.left()).toEqual([])
    expect(await redrive()).toMatchObject({ messages: 0, left: 0 })
  })

  test('keep their event ids, so consumers recognize duplicates', async () => {
    const ids = await place(2)
    const records = await stream.read()
    await handlers.outbox({ Records: records } as DynamoDBStreamEvent)
    const before = [...published]
    addDeadLetter(around(records, ids))
    await redrive()
    expect(published.slice(before.length)).toEqual(before.filter(({ data }) => ids.includes(data.id)))
  })

  test('stay in the queue while they fail, and are removed once they succeed', async () => {
    const ids = await place(4)
    const records = await stream.read()
    for (const id of ids) addDeadLetter(around(records, [id]))
    refused.add(ids[1] as string)
    const { faults, ...numbers } = await redrive()
    expect(numbers).toMatchObject({ messages: 3, left: 1, from_table: 0 })
    expect(faults).toEqual(['the function could not handle all'])
    expect(dead.left()).toHaveLength(1)
    expect(publishedIds()).toEqual(ofOrders(ids.filter((id) => !refused.has(id))))
    refused.clear()
    expect(await redrive()).toMatchObject({ messages: 1, left: 0 })
    expect(publishedIds().slice(-2)).toEqual(ofOrders([ids[1] as string]))
  })

  test('in unreadable messages stay, and do not keep others from being handled', async () => {
    const ids = await place(1)
    for (const body of ['not JSON', {}, messageOf(stream, [], { startSequenceNumber: 'first' })])
      dead.put(body)
    addDeadLetter(around(await stream.read(), ids))
    expect(await redrive()).toMatchObject({ messages: 1, left: 3 })
    expect(publishedIds()).toEqual(ofOrders(ids))
    expect(dead.left()).toHaveLength(3)
  })

  test('with more changes than one event holds are sent in several events', async () => {
    const ids = await place(120)
    addDeadLetter(around(await stream.read(), ids))
    expect(await redrive()).toMatchObject({ messages: 1, from_stream: 120 })
    expect(publishedIds()).toEqual(ofOrders(ids))
  })
})

describe('batches that are no longer in the stream', () => {
  const gone = { shardId: 'shardId-00000001573689847184-864758bb' }
  const outbox = (at: string) => ({
    id: crypto.randomUUID(),
    occurred_at: at,
    correlation_id: 'c',
    events: [{ type: 'order.created', version: 1, data: { id: at, tenant_id: 't' } }],
  })

  test('are rebuilt from the table: the events of their period, with their ids, and no others', async () => {
    const ids = await place(5)
    const records = await stream.read()
    await handlers.outbox({ Records: records } as DynamoDBStreamEvent)
    const before = published.splice(0)
    for (const minutes of [-10, 10]) {
      const at = new Date(Date.now() + minutes * 60_000).toISOString()
      await service.table.put({ item: { pk: 'order#t#0', sk: at, outbox: outbox(at) }, condition: 'none' })
    }
    addDeadLetter(around(records, ids.slice(0, 2)), gone)
    addDeadLetter(around(records, ids.slice(3)), gone)
    const { from_table, ...numbers } = await redrive()
    expect(numbers).toEqual({ messages: 2, from_stream: 0, left: 0, faults: [] })
    expect(from_table).toBeGreaterThanOrEqual(5)
    const ours = (events: PublishedEvent[]) => events.filter(({ data }) => ids.includes(data.id))
    const byId = (one: PublishedEvent, other: PublishedEvent) => (one.event_id < other.event_id ? -1 : 1)
    expect(ours(published).toSorted(byId)).toEqual(ours(before).toSorted(byId))
    expect(publishedIds().filter((one) => /order.created 20/.test(one))).toEqual([])
    expect(dead.left()).toEqual([])
  })

  test('in part are read from the rest of the stream and from the table', async () => {
    const ids = await place(2)
    const records = around(await stream.read(), ids)
    const trimmed = {
      when: ({ operation }: Call) => operation === 'GetShardIterator',
      fault: 'trimmed' as const,
    }
    proxy.inject(trimmed)
    addDeadLetter(records)
    const { from_stream, from_table, faults } = await redrive()
    expect(faults).toEqual([])
    expect(from_stream).toBe(2)
    expect(from_table).toBeGreaterThanOrEqual(2)
    expect(publishedIds()).toEqual(expect.arrayContaining(ofOrders(ids)))
  })

  test('at all, although the shard exists, are rebuilt from the table alone', async () => {
    const ids = await place(2)
    addDeadLetter(around(await stream.read(), ids))
    proxy.inject({
      when: ({ operation }) => operation === 'GetShardIterator' || operation === 'GetRecords',
      times: Number.POSITIVE_INFINITY,
      fault: 'trimmed',
    })
    expect(await redrive()).toMatchObject({ messages: 1, from_stream: 0, left: 0 })
    expect(publishedIds()).toEqual(expect.arrayContaining(ofOrders(ids)))
  })

  test('are not assumed when the stream is busy, and the message stays', async () => {
    const ids = await place(1)
    addDeadLetter(around(await stream.read(), ids))
    proxy.inject({ when: () => true, times: Number.POSITIVE_INFINITY, fault: 'internal' })
    expect(await redrive()).toMatchObject({ messages: 0, from_table: 0, left: 1 })
    expect(publishedIds()).toEqual([])
    expect(dead.left()).toHaveLength(1)
  })

  test('stay in the queue while the function fails', async () => {
    const ids = await place(1)
    addDeadLetter(around(await stream.read(), ids), gone)
    refused.add(ids[0] as string)
    expect(await redrive()).toMatchObject({ messages: 0, left: 1 })
    expect(dead.left()).toHaveLength(1)
    refused.clear()
    expect(await redrive()).toMatchObject({ messages: 1, left: 0 })
    expect(publishedIds()).toEqual(expect.arrayContaining(ofOrders(ids)))
  })

  test('of tasks queue the unfinished tasks again', async () => {
    const [waiting, handled] = [await receive(), await receive()]
    const task = { queue: 'webhooks', body: 'without a state' }
    await service.table.put({ item: { pk: 'reset#t', sk: 'reset', task }, condition: 'none' })
    const over = { ...task, body: 'over' }
    const expires_at = Math.floor(Date.now() / 1000) - 1
    await service.table.put({
      item: { pk: 'reset#t', sk: 'over', task: over, expires_at },
      condition: 'none',
    })
    const records = await stream.read()
    await handleEvent(handled, { table: service.table, clock: systemClock, settings: service.settings })
    addDeadLetter(around(records, [waiting, handled]), gone)
    expect(await redrive('tasks')).toMatchObject({ messages: 1, from_stream: 0, left: 0 })
    expect(queued).toEqual(expect.arrayContaining([waiting, task.body]))
    for (const done of [handled, over.body]) expect(queued).not.toContain(done)
  })
})

test('failed batches of tasks are queued from the stream', async () => {
  const ids = [await receive(), await receive(), await receive()]
  addDeadLetter(around(await stream.read(), ids.slice(0, 2)))
  expect(await redrive('tasks')).toMatchObject({ messages: 1, from_stream: 2, from_table: 0, left: 0 })
  expect(queued).toEqual(ids.slice(0, 2))
})
