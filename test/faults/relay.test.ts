import { describe, expect, test } from '@jest/globals'
import { type Outbox, type PublishedEvent, publishedEvents } from '#shared/platform/events/outbox.ts'
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

/** A bus that records its events. `fails` selects the entries of a call to reject, or throws. */
function busOf(fails: (call: number, events: readonly PublishedEvent[]) => boolean[] = () => []) {
  const taken: PublishedEvent[] = []
  const sizes: number[] = []
  const aside: string[] = []
  const types = ['order.created', 'order.placed', 'order.paid', 'code.updated', 'x', 'y']
  return {
    taken,
    sizes,
    aside,
    ids: () => taken.map(({ event_id }) => event_id),
    targets: {
      carriers: new Map(types.map((type) => [type, new Set(['order'])])),
      async publish(events: readonly PublishedEvent[]) {
        const refused = fails(sizes.push(events.length) - 1, events)
        const failed = events.map((_, index) => refused[index] ?? false)
        taken.push(...events.filter((_, index) => !failed[index]))
        return failed
      },
      setAside: async (sequenceNumber: string) => void aside.push(sequenceNumber),
    },
  }
}

const nothing = { published: 0, refused: [], setAside: 0, failedFrom: undefined, fault: undefined }

describe('the relay', () => {
  test('publishes every event of a commit with its required attributes', async () => {
    const bus = busOf()
    await relay([insert('a', '1', ['order.created', 'order.placed'])], bus.targets)
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
    expect(await relay(changes, bus.targets)).toEqual({ ...nothing, published: 4, failedFrom: '2' })
  })

  test('fails from the first change on if the bus throws, and logs the error', async () => {
    const fault = new Error('the bus is away')
    const changes = Array.from({ length: 15 }, (_, index) => insert(`item-${index}`, `${index + 1}`))
    const bus = busOf((call) => {
      if (call === 1) throw fault
      return []
    })
    expect(await relay(changes, bus.targets)).toEqual({ ...nothing, published: 10, failedFrom: '11', fault })
    expect(bus.sizes).toEqual([10, 5])
  })

  test('publishes more than ten events in batches of ten, in order', async () => {
    const changes = Array.from({ length: 25 }, (_, index) => insert(`item-${index}`, `${index + 1}`))
    const bus = busOf()
    expect(await relay(changes, bus.targets)).toMatchObject({ published: 25, failedFrom: undefined })
    expect(Math.max(...bus.sizes)).toBeLessThanOrEqual(10)
    expect(bus.taken.map(({ data }) => data.id)).toEqual(changes.map(({ after }) => after?.sk))
  })

  test('publishes the same ids if a change is relayed twice', async () => {
    const [first, second] = [busOf(), busOf()]
    for (const bus of [first, second]) await relay([insert('a', '1', ['x', 'y'])], bus.targets)
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
    expect(await relay(changes, bus.targets)).toEqual(nothing)
    expect(bus.sizes).toEqual([])
  })

  test('publishes two events of one type in one commit, for two resources, as two events', () => {
    const item = stateOf('a', 1, ['code.updated', 'code.updated'])
    const [first, second] = publishedEvents(item)
    expect(first?.event_id).not.toBe(second?.event_id)
  })

  test('does not publish the events of a creation again with those of a change', async () => {
    const before = {
      ...stateOf('a', 1),
      outbox: { at: 1000, correlation_id: 'c', events: ['order.created.v1'] },
    }
    const { outbox } = stateOf('a', 2)
    const after = { ...stateOf('a', 2), outbox: { ...(outbox as Outbox), first: before.outbox } }
    const bus = busOf()
    await relay([{ sequenceNumber: '1', before, after }], bus.targets)
    expect(bus.taken.map(({ type }) => type)).toEqual(['order.paid'])
  })

  test('publishes two commits of an item in the same millisecond as two events', async () => {
    const bus = busOf()
    const before = stateOf('a', 1, ['order.paid'], 7)
    await relay([{ sequenceNumber: '1', before, after: stateOf('a', 2, ['order.paid'], 7) }], bus.targets)
    expect(bus.taken.map(({ data }) => data.revision)).toEqual([2])
  })
})

describe('an event that no release publishes', () => {
  const plain = (pk: string, events: unknown, attributes = {}): StreamChange => ({
    sequenceNumber: '2',
    before: undefined,
    after: { pk, sk: 'x', outbox: { at: 1000, correlation_id: 'c', events }, ...attributes },
  })

  test('of a known type on an item that may not carry it is refused, and the stream goes on', async () => {
    const bus = busOf()
    const change = plain('rate#1', [{ name: 'order.paid.v1', data: { tenant_id: 'victim' } }], {
      tenant_id: 'victim',
    })
    const relayed = await relay([insert('a', '1'), change, insert('b', '3')], bus.targets)
    const refused = [{ type: 'order.paid', kind: 'rate', correlation_id: 'c' }]
    expect(relayed).toMatchObject({ published: 2, refused, setAside: 0, failedFrom: undefined })
    expect([ids(bus.taken), bus.aside]).toEqual([['a', 'b'], []])
  })

  test.each([
    ['of an unknown type', plain('order#t#0', ['order.shipped.v1'])],
    ['of an item that names no tenant', plain('mail#1', ['order.paid.v1'])],
    ['without a name', plain('order#t#0', [{ data: {} }])],
    ['in a list that is none', plain('order#t#0', 7)],
  ])('%s is set aside with its change, and the stream goes on', async (_, change) => {
    const bus = busOf()
    const relayed = await relay([insert('a', '1'), change, insert('b', '3')], bus.targets)
    expect(relayed).toMatchObject({ published: 2, refused: [], setAside: 1, failedFrom: undefined })
    expect([ids(bus.taken), bus.aside]).toEqual([['a', 'b'], ['2']])
  })

  test('is published with the others of its change once a release knows its type', async () => {
    const bus = busOf()
    const change = plain('order#t#0', ['order.paid.v1', 'order.shipped.v1'])
    await relay([change], bus.targets)
    const carriers = new Map([...bus.targets.carriers, ['order.shipped', new Set(['order'])]])
    await relay([change], { ...bus.targets, carriers })
    const [first, ...both] = bus.taken
    expect(both.map(({ type }) => type)).toEqual(['order.paid', 'order.shipped'])
    expect(both[0]).toEqual(first)
  })

  test('is delivered again if it cannot be set aside, with those after it', async () => {
    const bus = busOf()
    const fault = new Error('the queue is away')
    const setAside = () => Promise.reject(fault)
    const changes = [insert('a', '1'), plain('order#t#0', ['order.shipped.v1']), insert('b', '3')]
    expect(await relay(changes, { ...bus.targets, setAside })).toMatchObject({
      published: 1,
      failedFrom: '2',
      fault,
    })
    expect(ids(bus.taken)).toEqual(['a'])
  })
})

test('an event is published in each version of a type that the release knows', async () => {
  const bus = busOf()
  const data = { weight: 7 }
  const outbox = { at: 1000, correlation_id: 'c', events: [{ name: 'order.paid.v9', data }] }
  await relay(
    [{ sequenceNumber: '1', before: undefined, after: { pk: 'order#t#0', sk: 'a', outbox } }],
    bus.targets,
  )
  expect(bus.taken).toMatchObject([
    { type: 'order.paid', version: 9, data: { id: 'a', tenant_id: 't', weight: 7 } },
  ])
})

function ids(events: readonly PublishedEvent[]): string[] {
  return events.map(({ data }) => data.id)
}
