import { describe, expect, test } from '@jest/globals'
import * as v from 'valibot'
import { healthKey } from '#shared/deliveries/subscriber-health.ts'
import { internet } from '#shared/platform/formats/fetch-file.ts'
import { pendingEntries } from '#shared/platform/table/pending-entries.ts'
import type { Write } from '#shared/platform/table/table.ts'
import {
  changeSubscriber,
  createSubscriber,
  deleteSubscriber,
  findSubscriber,
  moveSubscriber,
  rotateSecret,
  type Subscriber,
  SubscriberInput,
  subscribersOf,
  subscriberTransitions,
  validSecrets,
  wants,
} from '#shared/subscribers/subscriber.ts'
import { isSubscriberUrl, mayReach, subscriberResolver } from '#shared/subscribers/subscriber-address.ts'
import { localSettings, otherSettings } from '#test/support/settings.ts'
import { newTable, openTable } from '#test/support/tables.ts'
import { subscriberOf } from './subscribers.ts'

describe('the events of a subscriber', () => {
  test.each([
    ['order.placed', 'order.placed', true],
    ['order.placed', 'order.placed.twice', false],
    ['refund.*', 'refund.succeeded', true],
    ['refund.*', 'refund', false],
    ['refund.*', 'refunds.succeeded', false],
    ['*', 'order.placed', true],
    ['refund.*,order.placed', 'order.placed', true],
  ])('with the patterns %s: %s is asked for is %s', (patterns, type, wanted) => {
    expect(wants({ events: patterns.split(',') }, type)).toBe(wanted)
  })

  test.each(['', '1a', 'order.', 'order.*.placed', '*.placed', 'Order', 'o*', 'a'.repeat(65)])(
    'have no pattern %j',
    (pattern) => {
      const input = { url: 'https://hooks.example.com', events: [pattern] }
      expect(v.is(SubscriberInput(localSettings), input)).toBe(false)
    },
  )

  test.each(['*', 'a', 'order', 'a.b_1.c2', 'o2_x.*', 'a'.repeat(64)])(
    'may have the pattern %j',
    (pattern) => {
      const input = { url: 'https://hooks.example.com', events: [pattern] }
      expect(v.is(SubscriberInput(localSettings), input)).toBe(true)
    },
  )

  test.each([
    [0, false],
    [1, true],
    [100, true],
    [101, false],
  ])('may have %s patterns: %s', (count, allowed) => {
    const input = { url: 'https://hooks.example.com', events: Array(count).fill('*') }
    expect(v.is(SubscriberInput(localSettings), input)).toBe(allowed)
  })
})

describe('the address of a subscriber', () => {
  test.each([
    ['https://hooks.example.com/a?b=c', true, true],
    ['https://8.8.8.8', true, true],
    ['http://hooks.example.com', false, false],
    ['https://me:word@hooks.example.com', false, false],
    ['https://10.0.0.1', false, false],
    ['https://intranet', false, false],
    ['https://169.254.169.254', false, false],
    ['http://localhost:3000/hook', true, false],
    ['http://127.0.0.1:3000', true, false],
    ['http://[::1]:3000', true, false],
    ['http://2130706433', true, false],
    ['https://localhost', true, false],
    ['http://me@localhost', false, false],
    ['http://:word@localhost', false, false],
    ['ftp://localhost', false, false],
    ['nonsense', false, false],
    [`https://${'a.'.repeat(126)}a`, true, true],
    [`https://${'a.'.repeat(126)}ab`, false, false],
  ])('%s is permitted locally: %s, and on AWS: %s', (url, locally, onAws) => {
    expect(isSubscriberUrl(url, localSettings)).toBe(locally)
    expect(isSubscriberUrl(url, otherSettings)).toBe(onAws)
  })

  test.each([
    ['8.8.8.8', true, true],
    ['127.0.0.100', true, false],
    ['::1', true, false],
    ['::10', false, false],
    ['fe80::1', false, false],
    ['10.0.0.1', false, false],
  ])('%s may be reached locally: %s, and on AWS: %s', (address, locally, onAws) => {
    expect(mayReach(address, localSettings)).toBe(locally)
    expect(mayReach(address, otherSettings)).toBe(onAws)
  })

  test('of a name that only this machine knows is found locally', async () => {
    const addresses = await subscriberResolver(localSettings)('localhost')
    expect(addresses.filter((one) => !mayReach(one, localSettings))).toEqual([])
    expect(addresses).not.toEqual([])
  })

  test('of a name is asked of name servers on AWS', () => {
    expect(subscriberResolver(otherSettings)).toBe(internet.resolve)
  })
})

describe('a stored subscriber', () => {
  const ref = { tenant: 'acme', subscriber: subscriberOf().id }

  test('is found in its tenant, and by the sweeps', async () => {
    const table = openTable(await newTable())
    await table.transact(createSubscriber(subscriberOf()))
    expect(await subscribersOf(table, 'acme')).toMatchObject([subscriberOf()])
    expect(await subscribersOf(table, 'rival')).toEqual([])
    expect(await pendingEntries(table, 'registered-subscriber')).toMatchObject([
      { sk: ref.subscriber, tenant: 'acme' },
    ])
  })

  test('leaves nothing when it is deleted', async () => {
    const table = openTable(await newTable())
    await table.transact(createSubscriber(subscriberOf()))
    await table.put({ item: { ...healthKey(ref) }, condition: 'none' })
    await table.transact(deleteSubscriber(subscriberOf()))
    expect(await findSubscriber(table, ref)).toBeUndefined()
    expect(await table.get(healthKey(ref))).toBeUndefined()
    expect(await pendingEntries(table, 'registered-subscriber')).toEqual([])
  })

  test('moves once from a state that was read', async () => {
    const table = openTable(await newTable())
    await table.transact(createSubscriber(subscriberOf()))
    const disable = moveSubscriber(subscriberOf(), 'disable', { now: 0, reason: 'gone' })
    expect(await table.transact([disable])).toBeUndefined()
    expect(await findSubscriber(table, ref)).toMatchObject({ state: 'disabled', reason: 'gone' })
    expect(await table.transact([disable])).toMatchObject({ index: 0 })
  })

  test.each<[string, (read: Subscriber) => Write[]]>([
    ['paused', (read) => [moveSubscriber(read, 'pause', { now: 0 })]],
    ['changed', (read) => [changeSubscriber(read, { events: ['*'] }, 0)]],
    ['deleted', deleteSubscriber],
  ])('is not %s after another change in the millisecond of the one that was read', async (_, write) => {
    const table = openTable(await newTable())
    const read = subscriberOf()
    await table.transact(createSubscriber(read))
    await table.transact([changeSubscriber(read, { events: [] }, Date.parse(read.updated_at))])
    expect(await table.transact(write(read))).toMatchObject({ index: 0 })
  })

  test.each([
    ['pause', 'active', true],
    ['pause', 'disabled', false],
    ['resume', 'paused', true],
    ['resume', 'disabled', true],
    ['resume', 'active', false],
    ['disable', 'active', true],
    ['disable', 'paused', false],
  ] as const)('may %s while it is %s: %s', (trigger, state, allowed) => {
    expect(subscriberTransitions.allows(trigger, state)).toBe(allowed)
  })
})

describe('the secrets of a subscriber', () => {
  const now = 1_000_000
  const overlap = localSettings['subscribers.secretOverlapSeconds'] * 1000

  test('overlap after a rotation, and then only the new one signs', async () => {
    const table = openTable(await newTable())
    const subscriber = subscriberOf()
    await table.transact(createSubscriber(subscriber))
    await table.transact([rotateSecret(subscriber, 'two', { now, settings: localSettings })])
    const [rotated = subscriber] = await subscribersOf(table, 'acme')
    const sealed = (at: number) => validSecrets(rotated, at).map((one) => one.sealed)
    expect(sealed(now + overlap - 1)).toEqual(['two', 'one'])
    expect(sealed(now + overlap)).toEqual(['two'])
  })
})
