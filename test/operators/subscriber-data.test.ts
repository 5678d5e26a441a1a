import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { carryOver } from '#bin/commands/restore/carry-over.ts'
import { deleteTenant } from '#bin/commands/tenants/purge-tenant.ts'
import { type Delivery, newDelivery, waitingEntry } from '#shared/deliveries/delivery.ts'
import { firstIdAt, systemClock, timeOf } from '#shared/platform/base/clock.ts'
import { type Entity, type Item, keyOf } from '#shared/platform/table/keys.ts'
import { pendingEntries } from '#shared/platform/table/pending-entries.ts'
import { restoredKey } from '#shared/platform/table/restored.ts'
import type { Table } from '#shared/platform/table/table.ts'
import { subscribedTenantsKey } from '#shared/subscribers/subscribed-tenants.ts'
import { createSubscriber, deleteSubscriber, type Subscriber } from '#shared/subscribers/subscriber.ts'
import { subscriberOf } from '#test/subscribers/subscribers.ts'
import { itemsOf, testClient } from '#test/support/dynamodb-client.ts'
import { localSettings } from '#test/support/settings.ts'
import { createTable, openTable } from '#test/support/tables.ts'

const restoredTo = new Date('2026-01-31T12:00:00Z')
const day = 24 * 3600 * 1000
const tenant = 'acme'

const subscriber = (name: string, of = tenant): Subscriber =>
  subscriberOf({ id: firstIdAt(Date.parse('2026-01-01T00:00:00Z') + name.length), tenant_id: of, url: name })

function deliveryOf({ id }: Subscriber, event_id: string, at: number, of = tenant): Delivery & Item {
  const event = {
    event_id,
    type: 'order.placed',
    version: 1,
    occurred_at: new Date(at).toISOString(),
    source: 'commerce-api' as const,
    correlation_id: 'c',
    data: {},
  }
  const ref = { tenant: of, subscriber: id }
  return { ...newDelivery(ref, event, { state: 'waiting', now: at, settings: localSettings }) }
}
const ended = (delivery: Delivery & Item) => ({ ...delivery, state: 'succeeded' as const, attempted: 1 })
const entryOf = ({ id }: Subscriber, delivery: Delivery, of = tenant) =>
  waitingEntry({ tenant: of, subscriber: id }, delivery, timeOf(delivery.sk), systemClock)
const store = async (table: Table, ...items: Item[]) => {
  for (const item of items) await table.put({ item, condition: 'none' })
}
const keysOf = (items: readonly Item[], entity: Entity) =>
  items
    .filter(({ pk }) => pk.startsWith(`${entity}#`))
    .map(({ sk }) => sk)
    .sort()

describe('a purge of a tenant', () => {
  let table: Table
  let left: Item[]
  let deleted: Awaited<ReturnType<typeof deleteTenant>>
  const purged = subscriber('purged')
  const other = subscriber('other', 'other')
  beforeAll(async () => {
    const name = await createTable()
    table = openTable(name)
    await table.transact(createSubscriber(purged))
    await table.transact(createSubscriber(other))
    const delivery = deliveryOf(purged, 'e', Date.now())
    await store(table, delivery, entryOf(purged, delivery))
    await store(table, { ...keyOf(tenant, 'subscriber_health', purged.id), timeouts: 1 })
    deleted = await deleteTenant({ table, clock: systemClock, name: 'jane' }, tenant, { withAudit: true })
    left = await itemsOf(name)
  })

  test('deletes its subscribers with their deliveries', () => {
    expect(left.filter(({ pk }) => pk.includes(`#${tenant}#`))).toEqual([])
  })

  test('counts them', () => {
    expect(deleted).toMatchObject({ subscriber: 1, subscriber_health: 1, delivery: 1, waiting_delivery: 1 })
  })

  test('deletes the entries by which the sweeps find them, and those of no other tenant', async () => {
    const entries = await pendingEntries(table, 'registered-subscriber')
    expect(entries.map(({ sk, tenant }) => [sk, tenant])).toEqual([[other.id, 'other']])
  })
})

describe('a table that is restored', () => {
  const [kept, later, gone] = [subscriber('kept'), subscriber('later'), subscriber('goneby', 'left')]
  const at = (offset: number) => restoredTo.getTime() + offset
  /** Waits at the time of the restore, and is delivered since. */
  const delivered = deliveryOf(kept, 'delivered', at(-5 * day))
  /** Waits then and now. */
  const waiting = deliveryOf(kept, 'waiting', at(-4 * day))
  /** Waits then, and has expired since. */
  const expired = deliveryOf(kept, 'expired', at(-29 * day))
  /** Had ended, and waits again since. */
  const resent = deliveryOf(kept, 'resent', at(-3 * day))
  /** Is recorded since the time of the restore, of an event of before. */
  const recorded = deliveryOf(kept, 'recorded', at(-60_000))
  /** Had ended long before. */
  const old = ended(deliveryOf(kept, 'old', at(-10 * day)))
  const ofGone = deliveryOf(gone, 'of-gone', at(-1000), 'left')
  const changed = { ...kept, secrets: [{ sealed: 'two' }], updated_at: '2026-02-01T00:00:00.000Z' }

  let target: Item[]
  let carried: Awaited<ReturnType<typeof carryOver>>
  let repeated: Item[]
  const find = (delivery: Delivery) => target.find(({ pk, sk }) => pk === delivery.pk && sk === delivery.sk)

  beforeAll(async () => {
    const names = { source: await createTable(), target: await createTable() }
    const [source, restored] = [openTable(names.source), openTable(names.target)]
    for (const table of [source, restored]) {
      await table.transact(createSubscriber(kept))
      await table.transact(createSubscriber(gone))
      await store(table, old)
    }
    await store(restored, delivered, waiting, expired, ended(resent), ofGone)
    await store(restored, ...[delivered, waiting, expired].map((one) => entryOf(kept, one)))
    await store(restored, entryOf(gone, ofGone, 'left'))
    await source.transact(deleteSubscriber(gone))
    await source.transact(createSubscriber(later))
    await store(source, { ...keyOf(tenant, 'subscriber', kept.id), ...changed })
    await store(source, ended(delivered), { ...waiting, attempted: 1 }, { ...resent, attempted: 1 })
    await store(source, entryOf(kept, waiting), entryOf(kept, resent), ended(recorded))
    const client = DynamoDBDocumentClient.from(testClient())
    const operator = { table: restored, clock: systemClock, name: 'jane' }
    const carry = () => carryOver({ client, ...names, operator, from: restoredTo })
    carried = await carry()
    target = await itemsOf(names.target)
    await carry()
    repeated = await itemsOf(names.target)
  })

  test('has the subscribers as they stand now', () => {
    expect(keysOf(target, 'subscriber')).toEqual([kept.id, later.id].sort())
  })

  test('has their present secrets', () => {
    expect(target.find(({ sk, pk }) => sk === kept.id && pk.startsWith('subscriber#'))).toMatchObject({
      secrets: [{ sealed: 'two' }],
    })
  })

  test('has the entries of its subscribers, and no others', () => {
    const entries = target.filter(({ pk }) => pk.startsWith('registered-subscriber#'))
    expect(entries.map(({ sk }) => sk).sort()).toEqual([kept.id, later.id].sort())
  })

  test('does not send again what was delivered since', () => {
    expect(find(delivered)).toMatchObject({ state: 'succeeded' })
    expect(target.filter((item) => item.delivery === delivered.sk)).toEqual([])
  })

  test('sends what waits now', () => {
    expect(find(waiting)).toMatchObject({ state: 'waiting', attempted: 1 })
    const entries = target.filter(({ pk }) => pk.startsWith('waiting_delivery#'))
    expect(entries.map(({ delivery }) => delivery).sort()).toEqual([waiting.sk, resent.sk].sort())
  })

  test('has the present state of a delivery that was sent again', () => {
    expect(find(resent)).toMatchObject({ state: 'waiting', attempted: 1 })
  })

  test('has the deliveries that were recorded since', () => {
    expect(find(recorded)).toMatchObject({ state: 'succeeded' })
  })

  test('has no delivery that has expired since', () => {
    expect(find(expired)).toBeUndefined()
  })

  test('keeps the deliveries that had ended', () => {
    expect(find(old)).toMatchObject({ state: 'succeeded' })
  })

  test('sends nothing to a subscriber that was deleted since', () => {
    expect(target.filter(({ pk }) => pk.startsWith('waiting_delivery#left#'))).toEqual([])
  })

  test('has the same items after a second run', () => {
    // Each run writes when it ended, and that the list of tenants is not known.
    const marks = [restoredKey.pk, subscribedTenantsKey.pk]
    const sorted = (items: Item[]) =>
      items.filter(({ pk }) => !marks.includes(pk)).toSorted((a, b) => (a.pk + a.sk < b.pk + b.sk ? -1 : 1))
    expect(sorted(repeated)).toEqual(sorted(target))
  })

  test('is counted', () => {
    // The delivery of the last day, and three that waited or wait, of which one has expired.
    expect(carried).toContainEqual({ items: 'subscriber', copied: 2, removed: 1 })
    expect(carried).toContainEqual({ items: 'delivery', copied: 4, removed: 0 })
  })
})
