import { describe, expect, test } from '@jest/globals'
import {
  type EventForm,
  type Outbox,
  type PublishedEvent,
  publishedEvents,
} from '#shared/platform/events/outbox.ts'
import { relay, type StreamChange } from '#shared/platform/events/relay.ts'
import type { Item } from '#shared/platform/table/keys.ts'

/** A version of an item. Commits are one second apart unless given a time. */
function stateOf(id: string, version: number, types = ['order.paid'], second = version): Item {
  const outbox: Outbox & { id: string } = {
    id: `commit-${version}`,
    at: second * 1000,
    correlation_id: 'c',
    events: types.map((type) => ({ name: `${type}.v1`, data: { id, tenant_id: 't', revision: version } })),
  }
  return { pk: 'order#t#0', sk: id, version, ...(types.length > 0 && { outbox }) }
}

const insert = (id: string, sequenceNumber: string, types?: string[]): StreamChange => ({
  sequenceNumber,
  before: undefined,
  after: stateOf(id, 1, types),
})

/** The events of the release. */
const forms: EventForm[] = [
  { type: 'order.created', version: 1, held: { id: 'id', tenant_id: 'tenant_id' } },
  { type: 'order.whole', version: 1 },
]

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
    await relay([insert('a', '1', ['order.created', 'order.placed'])], [], bus.publish)
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
    expect(await relay(changes, [], bus.publish)).toEqual({ published: 4, failedFrom: '2', fault: undefined })
  })

  test('fails from the first change on if the bus throws, and logs the error', async () => {
    const fault = new Error('the bus is away')
    const changes = Array.from({ length: 15 }, (_, index) => insert(`item-${index}`, `${index + 1}`))
    const bus = busOf((call) => {
      if (call === 1) throw fault
      return []
    })
    expect(await relay(changes, [], bus.publish)).toEqual({ published: 10, failedFrom: '11', fault })
    expect(bus.sizes).toEqual([10, 5])
  })

  test('publishes more than ten events in batches of ten, in order', async () => {
    const changes = Array.from({ length: 25 }, (_, index) => insert(`item-${index}`, `${index + 1}`))
    const bus = busOf()
    expect(await relay(changes, [], bus.publish)).toMatchObject({ published: 25, failedFrom: undefined })
    expect(Math.max(...bus.sizes)).toBeLessThanOrEqual(10)
    expect(bus.taken.map(({ data }) => data.id)).toEqual(changes.map(({ after }) => after?.sk))
  })

  test('publishes the same ids if a change is relayed twice', async () => {
    const [first, second] = [busOf(), busOf()]
    for (const bus of [first, second]) await relay([insert('a', '1', ['x', 'y'])], [], bus.publish)
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
    expect(await relay(changes, [], bus.publish)).toEqual({
      published: 0,
      failedFrom: undefined,
      fault: undefined,
    })
    expect(bus.sizes).toEqual([])
  })

  test('publishes two events of one type in one commit, for two resources, as two events', () => {
    const item = stateOf('a', 1, ['code.updated', 'code.updated'])
    const [first, second] = publishedEvents(item, [])
    expect(first?.event_id).not.toBe(second?.event_id)
  })

  test('does not publish the events of a creation again with those of a change', async () => {
    const before = {
      ...stateOf('a', 1),
      outbox: { at: 1000, correlation_id: 'c', events: ['order.created.v1'] },
    }
    const { outbox } = stateOf('a', 2)
    const after = { ...stateOf('a', 2), outbox: { ...(outbox as Outbox), creation: before.outbox } }
    const bus = busOf()
    await relay([{ sequenceNumber: '1', before, after }], forms, bus.publish)
    expect(bus.taken.map(({ type }) => type)).toEqual(['order.paid'])
  })

  test('publishes two commits of an item in the same millisecond as two events', async () => {
    const bus = busOf()
    const before = stateOf('a', 1, ['order.paid'], 7)
    await relay([{ sequenceNumber: '1', before, after: stateOf('a', 2, ['order.paid'], 7) }], [], bus.publish)
    expect(bus.taken.map(({ data }) => data.revision)).toEqual([2])
  })
})

describe('an event whose data its item holds', () => {
  const created = { at: 1000, correlation_id: 'c', baggage: 'shop=one' }
  const itemOf = (events: Outbox['events'], attributes = {}) => ({
    pk: 'order#t#0',
    sk: 'a',
    id: 'a',
    tenant_id: 't',
    ...attributes,
    outbox: { ...created, events },
  })
  const change = (sequenceNumber: string, after: Item) => ({ sequenceNumber, before: undefined, after })

  test('is built by its definition', () => {
    expect(publishedEvents(itemOf(['order.created.v1']), forms)).toEqual([
      {
        event_id: expect.any(String),
        type: 'order.created',
        version: 1,
        data: { id: 'a', tenant_id: 't' },
        occurred_at: '1970-01-01T00:00:01.000Z',
        correlation_id: 'c',
        baggage: 'shop=one',
        source: 'commerce-api',
      },
    ])
  })

  test('has the rest of its data from its stored part, even if the item has another value', () => {
    const item = itemOf([{ name: 'order.created.v1', rest: { tenant_id: 'first', status: 'new' } }])
    expect(publishedEvents(item, forms)[0]?.data).toEqual({ id: 'a', tenant_id: 'first', status: 'new' })
  })

  test('keeps its id after a change, which has another', () => {
    const item = itemOf(['order.created.v1'])
    const { outbox } = item
    const changed = { ...item, outbox: { ...outbox, id: 'x', creation: outbox } }
    const [before, [creation, latest]] = [publishedEvents(item, forms), publishedEvents(changed, forms)]
    expect(creation).toEqual(before[0])
    expect(latest?.event_id).not.toBe(creation?.event_id)
  })

  test.each([
    [
      'an unknown version',
      itemOf(['order.created.v2']),
      'order.created.v2 cannot be built: this release does not define it',
    ],
    [
      'a version that is never taken from an item',
      itemOf(['order.whole.v1']),
      'order.whole.v1 cannot be built: this release does not define it',
    ],
    [
      'an item without an attribute',
      itemOf(['order.created.v1'], { tenant_id: undefined }),
      'order.created.v1 cannot be built: its item has no tenant_id',
    ],
  ])(
    'is reported with its change if it cannot be built, after the changes before it: %s',
    async (_, item, message) => {
      const bus = busOf()
      const changes = [insert('b', '1'), change('2', item), insert('c', '3')]
      const { fault, ...relayed } = await relay(changes, forms, bus.publish)
      expect(relayed).toEqual({ published: 1, failedFrom: '2' })
      expect(fault).toEqual(new Error(message))
      expect(bus.taken.map(({ data }) => data.id)).toEqual(['b'])
    },
  )

  test('that is stored with its whole data needs no definition', async () => {
    const bus = busOf()
    const data = { id: 'a', tenant_id: 't', weight: 7 }
    await relay([change('1', itemOf([{ name: 'order.weighed.v3', data }]))], forms, bus.publish)
    expect(bus.taken).toMatchObject([{ type: 'order.weighed', version: 3, data }])
  })
})
