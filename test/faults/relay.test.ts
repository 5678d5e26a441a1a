import { describe, expect, test } from '@jest/globals'
import { type Outbox, type PublishedEvent, publishedEvents } from '#shared/platform/events/outbox.ts'
import { relay, type StreamChange } from '#shared/platform/events/relay.ts'
import type { Item } from '#shared/platform/table/keys.ts'

/** A version of an item. Commits are one second apart unless given a time. */
function stateOf(id: string, version: number, types = ['order.paid'], second = version): Item {
  const outbox: Outbox & { id: string } = {
    id: `commit-${id}-${version}`,
    occurred_at: new Date(second * 1000).toISOString(),
    correlation_id: 'c',
    events: types.map((type) => ({ type, version: 1, data: { id, tenant_id: 't', revision: version } })),
  }
  return { pk: 'order#t#0', sk: id, version, ...(types.length > 0 && { outbox }) }
}

const insert = (id: string, sequenceNumber: string, types?: string[]): StreamChange => ({
  sequenceNumber,
  before: undefined,
  after: stateOf(id, 1, types),
})

/** A bus that records its events. `fails` selects the entries of a call to reject, or throws. */
function busOf(fails: (call: number, events: readonly PublishedEvent[]) => boolean[] = () => []) {
  const taken: PublishedEvent[] = []
  const sizes: number[] = []
  return {
    taken,
    sizes,
    ids: () => taken.map(({ event_id }) => event_id),
    publish: async (events: readonly PublishedEvent[]) => {
      const refused = fails(sizes.push(events.length) - 1, events)
      const failed = events.map((_, index) => refused[index] ?? false)
      taken.push(...events.filter((_, index) => !failed[index]))
      return failed
    },
  }
}

describe('the relay', () => {
  test('publishes every event of a commit with its required attributes', async () => {
    const bus = busOf()
    await relay([insert('a', '1', ['order.created', 'order.placed'])], bus.publish)
    expect(bus.taken).toEqual(
      ['order.created', 'order.placed'].map((type) => ({
        event_id: expect.stringMatching(
          /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
        ),
        type,
        version: 1,
        occurred_at: '1970-01-01T00:00:01.000Z',
        correlation_id: 'c',
        source: 'commerce-api',
        data: { id: 'a', tenant_id: 't', revision: 1 },
      })),
    )
    expect(new Set(bus.ids()).size).toBe(2)
  })

  test('reports the first change with a failed event, and does not repeat earlier changes', async () => {
    const changes = ['a', 'b', 'c'].map((id, index) => insert(id, `${index + 1}`, ['x', 'y']))
    const bus = busOf(() => [false, false, false, true, true, false])
    expect(await relay(changes, bus.publish)).toEqual({ published: 4, failedFrom: '2', fault: undefined })
  })

  test('fails from the first change on if the bus throws, and logs the error', async () => {
    const fault = new Error('the bus is away')
    const changes = Array.from({ length: 15 }, (_, index) => insert(`item-${index}`, `${index + 1}`))
    const bus = busOf((call) => {
      if (call === 1) throw fault
      return []
    })
    expect(await relay(changes, bus.publish)).toEqual({ published: 10, failedFrom: '11', fault })
    expect(bus.sizes).toEqual([10, 5])
  })

  test('publishes more than ten events in batches of ten, in order', async () => {
    const changes = Array.from({ length: 25 }, (_, index) => insert(`item-${index}`, `${index + 1}`))
    const bus = busOf()
    expect(await relay(changes, bus.publish)).toMatchObject({ published: 25, failedFrom: undefined })
    expect(Math.max(...bus.sizes)).toBeLessThanOrEqual(10)
    expect(bus.taken.map(({ data }) => data.id)).toEqual(changes.map(({ after }) => after?.sk))
  })

  test('publishes the same ids if a change is relayed twice', async () => {
    const [first, second] = [busOf(), busOf()]
    for (const bus of [first, second]) await relay([insert('a', '1', ['x', 'y'])], bus.publish)
    expect(second.taken).toEqual(first.taken)
  })

  test('publishes nothing for a change without new events', async () => {
    const before = stateOf('a', 1)
    const bus = busOf()
    const changes: StreamChange[] = [
      { sequenceNumber: '1', before, after: { ...before, version: 2 } },
      { sequenceNumber: '2', before, after: { ...stateOf('a', 2, []) } },
      { sequenceNumber: '3', before, after: undefined },
    ]
    expect(await relay(changes, bus.publish)).toEqual({
      published: 0,
      failedFrom: undefined,
      fault: undefined,
    })
    expect(bus.sizes).toEqual([])
  })

  test('publishes two events of one type in one commit, for two resources, as two events', () => {
    const item = stateOf('a', 1, ['code.updated', 'code.updated'])
    const [first, second] = publishedEvents(item)
    expect(first?.event_id).not.toBe(second?.event_id)
  })

  test('publishes two commits of an item in the same millisecond as two events', async () => {
    const bus = busOf()
    const before = stateOf('a', 1, ['order.paid'], 7)
    await relay([{ sequenceNumber: '1', before, after: stateOf('a', 2, ['order.paid'], 7) }], bus.publish)
    expect(bus.taken.map(({ data }) => data.revision)).toEqual([2])
  })
})
