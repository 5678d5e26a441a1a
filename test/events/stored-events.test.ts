import { marshall } from '@aws-sdk/util-dynamodb'
import { beforeEach, describe, expect, test } from '@jest/globals'
import { erasedEvents, rebuilt } from '#bin/commands/dead-letters/rebuild-events.ts'
import { timestamp } from '#shared/platform/base/clock.ts'
import {
  maxReplaced,
  type Outbox,
  type OutgoingEvent,
  publishedEvents,
  type StoredEvent,
  withEvents,
} from '#shared/platform/events/outbox.ts'
import type { Item } from '#shared/platform/table/keys.ts'
import { memoryRuntime } from '#test/support/memory-runtime.ts'

const carriers = ['order', 'mail', 'cart'] as const
const correlation = { id: 'corr-1', trace: { traceparent: 'trace-1' } }
const [id, later] = ['018f0000-0000-8000-8000-000000000000', '018f0000-0000-8000-8000-000000000001']
const order = { pk: 'order#acme#0', sk: id, status: 'paid' }
const data = { id, tenant_id: 'acme' }

let { clock } = memoryRuntime()
beforeEach(() => {
  clock = memoryRuntime().clock
})
const created = (item: Item, ...events: OutgoingEvent[]) =>
  withEvents({ item, condition: { absent: true } }, events, { clock, correlation })
const changed = (item: Item, ...events: OutgoingEvent[]) =>
  withEvents({ item, condition: 'none' }, events, { clock, correlation })
const outboxOf = (item: Item) => item.outbox as Outbox
const eventOf = (name: string, more = {}): OutgoingEvent => ({ name, carriers, data: { ...data, ...more } })

describe('an event on its item', () => {
  const name = 'a.v1'
  test.each<[string, OutgoingEvent, StoredEvent]>([
    ['is its name if the key says the rest', eventOf(name), name],
    ['has the rest of its data', eventOf(name, { status: 'paid' }), { name, data: { status: 'paid' } }],
    ['has its id if it is not that of the item', eventOf(name, { id: later }), { name, data: { id: later } }],
    [
      'has its event id if that does not depend on the commit',
      { ...eventOf(name), once: 'x' },
      { name, id: expect.any(String) as never },
    ],
  ])('%s', (_, outgoing, stored) => {
    const item = created(order, outgoing)
    expect(outboxOf(item).events).toEqual([stored])
    expect(publishedEvents(item)).toMatchObject([{ type: 'a', version: 1, data: outgoing.data }])
  })

  test('keeps its data when its item changes', () => {
    const item = created(order, eventOf(name, { status: 'paid' }))
    expect(publishedEvents({ ...item, status: 'cancelled' })).toEqual(publishedEvents(item))
  })

  test('has the trace of its request once', () => {
    expect(outboxOf(created(order, eventOf('a.v1'), eventOf('b.v1')))).toEqual({
      at: clock.now(),
      correlation_id: 'corr-1',
      traceparent: 'trace-1',
      events: ['a.v1', 'b.v1'],
    })
  })

  test('is published without what another release has added to its commit', () => {
    const item = created(order, eventOf(name))
    const later = { ...item, outbox: { ...outboxOf(item), later: 'private' } }
    expect(publishedEvents(later)).toEqual(publishedEvents(item))
  })

  test('is of the tenant of its partition, or of the attribute of an item whose kind has no tenant', () => {
    const mail = { pk: `mail#${id}`, sk: 'mail', tenant_id: 'acme' }
    expect(publishedEvents(created(mail, eventOf(name)))).toMatchObject([{ data }])
    const moved = { ...created(order, eventOf(name)), tenant_id: 'other' }
    expect(publishedEvents(moved)).toMatchObject([{ data }])
  })

  test.each([
    ['on an item of another kind', { ...order, pk: 'refund#acme#0' }, 'cannot be carried'],
    ['on an item of another tenant', { ...order, pk: 'order#other#0' }, 'of another tenant'],
  ])('is a mistake of the code %s', (_, item, message) => {
    expect(() => created(item, eventOf(name))).toThrow(message)
  })
})

describe('the events of an item', () => {
  test.each([
    ['with an id', order],
    ['with a name', { pk: 'cart#acme#0', sk: 'cart-1' }],
  ])('%s are those of its first and of its latest commit, and the times of others', (_, first) => {
    let item: Item = created(first, eventOf('created.v1'))
    const { at } = outboxOf(item)
    const creation = publishedEvents(item)
    for (let n = 1; n <= 12; n += 1) {
      clock.advance(1000)
      item = changed({ ...item, n }, eventOf(`changed.v${n}`))
      expect(publishedEvents(item)).toEqual([...creation, expect.objectContaining({ version: n })])
      if (n === 1) expect(outboxOf(item).replaced).toBeUndefined()
      if (n === 2) expect(outboxOf(item).replaced).toEqual([at + 1000])
    }
    expect(outboxOf(item).replaced).toEqual(
      Array.from({ length: maxReplaced }, (_, n) => at + (n + 2) * 1000),
    )
  })

  test('have ids of their commit if the key may be used again', () => {
    const cart = { pk: 'cart#acme#0', sk: 'cart-1' }
    const [[one], [other]] = [
      publishedEvents(created(cart, eventOf('a.v1'))),
      publishedEvents(created(cart, eventOf('a.v1'))),
    ]
    expect(one?.event_id).not.toBe(other?.event_id)
  })

  test('have the same ids in each attempt to create an item with an id', () => {
    const mail = { pk: `mail#${id}`, sk: 'mail', tenant_id: 'acme' }
    for (const item of [order, mail])
      expect(publishedEvents(created(item, eventOf('a.v1')))).toEqual(
        publishedEvents(created(item, eventOf('a.v1'))),
      )
  })

  test('that were erased are named from the time before which they are not known, however often it changed', () => {
    const replaced = Array.from({ length: maxReplaced }, (_, n) => 2000 + n)
    const outbox = { id: 'a', at: 3000, correlation_id: 'c', events: ['order.paid.v1'] }
    const first = { at: 1000, correlation_id: 'c', events: ['order.created.v1'] }
    const item = { pk: 'order#acme#0', sk: 'o', outbox: { ...outbox, first, replaced } }
    const erased = { ...item, outbox: erasedEvents(item) }
    const { lost } = rebuilt([{ dynamodb: { NewImage: marshall(erased) } } as never], { from: 500, to: 1500 })
    expect(lost).toEqual([`order#acme#0 o: events from before ${timestamp(2001)} are not stored any more`])
  })
})
