import { beforeEach, describe, expect, test } from '@jest/globals'
import { readDeliveries } from '#bin/commands/ask/lists.ts'
import type { LineQuery } from '#bin/commands/ask/query.ts'
import { replayDeliveries, resend } from '#bin/commands/subscribers/deliveries.ts'
import { resumeSubscriber } from '#bin/commands/subscribers/registry.ts'
import type { SubscriberOperator } from '#bin/commands/subscribers/subscriber-operator.ts'
import { testSubscriber } from '#bin/commands/subscribers/test-subscriber.ts'
import type { Delivery } from '#shared/deliveries/delivery.ts'
import { queuedDelivery } from '#shared/deliveries/schedule-delivery.ts'
import { healthKey } from '#shared/deliveries/subscriber-health.ts'
import { blockedTenantsPut } from '#shared/platform/identity/blocked-tenants.ts'
import { deleteSubscriber, type Subscriber } from '#shared/subscribers/subscriber.ts'
import { type DeliveryService, startDeliveries } from '#test/deliveries/delivery-service.ts'
import { naming } from '#test/support/naming.ts'
import { reachTo } from './reach-to.ts'

const hour = 3_600_000

let service: DeliveryService
let operator: SubscriberOperator
let subscriber: Subscriber
const ref = () => ({ tenant: 'acme', subscriber: subscriber.id })
beforeEach(async () => {
  service = await startDeliveries()
  const { table, clock } = service
  operator = {
    table,
    // The deployment works while a command waits.
    clock: {
      now: () => clock.now(),
      jitter: () => clock.jitter(),
      randomBytes: (length) => clock.randomBytes(length),
      async sleep(milliseconds) {
        clock.advance(milliseconds)
        await service.run()
      },
    },
    name: 'jane',
    prepare: async () => ({ resealed: [], settings: service.settings }),
    send: async (message) => service.put(queuedDelivery(message)),
  }
  subscriber = await service.add()
})

/** Publishes an event and lets the deployment deliver it. */
async function deliver(status = 200): Promise<Delivery> {
  service.respond = () => ({ status, answer: 'the answer' })
  const { event_id } = await service.publish()
  await service.run()
  const found = (await service.deliveries()).find((one) => one.event_id === event_id)
  if (!found) throw new Error('there is no delivery')
  return found
}
/** Delivers an event until its last attempt has failed. */
async function deliverInVain(): Promise<Delivery> {
  const { event_id } = await deliver(500)
  await service.runFor(60 * 3600)
  const found = (await service.deliveries()).find((one) => one.event_id === event_id)
  if (found?.state !== 'failed') throw new Error(`the delivery is ${found?.state}`)
  return found
}
const listed = async (query: Partial<LineQuery> = {}) => {
  const all = { tenant: 'acme', target: subscriber.id, limit: 100, ...query }
  return (await readDeliveries(reachTo(service.tableName), all)).lines
}
const audited = async () =>
  (await service.audit())
    .filter(({ actor_id }) => actor_id === 'jane')
    .map(({ action, target }) => `${action} ${target}`)
const eventsReceived = () => service.received.map(({ eventId }) => eventId)

describe('subscribers test', () => {
  test('prints what the endpoint answered', async () => {
    service.respond = () => ({ status: 200, answer: 'pong' })
    expect(await testSubscriber(operator, ref())).toMatchObject({
      accepted: true,
      status: 200,
      answer: 'pong',
      milliseconds: expect.any(Number),
    })
  })

  test('sends an event of the type ping', async () => {
    await testSubscriber(operator, ref())
    expect(JSON.parse(service.received[0]?.body ?? '')).toMatchObject({
      type: 'ping',
      data: { id: subscriber.id, tenant_id: 'acme' },
    })
  })

  test('reports a status that is no success, and makes one attempt only', async () => {
    service.respond = () => ({ status: 500, answer: 'sorry' })
    expect(await testSubscriber(operator, ref())).toMatchObject({ accepted: false, status: 500 })
    await service.runFor(3600)
    expect(service.received).toHaveLength(1)
  })

  test('reports why there was no answer', async () => {
    service.respond = () => ({ reason: 'connection' })
    expect(await testSubscriber(operator, ref())).toMatchObject({ accepted: false, reason: 'connection' })
  })

  test('reaches a paused subscriber', async () => {
    await service.change(subscriber, { state: 'paused' })
    expect(await testSubscriber(operator, ref())).toMatchObject({ accepted: true })
  })

  test('fails if the deployment makes no attempt', async () => {
    const stopped = { ...operator, send: async () => {} }
    await expect(testSubscriber(stopped, ref())).rejects.toThrow(/attempt/)
  })

  test('refuses a subscriber that does not exist', async () => {
    await expect(testSubscriber(operator, { tenant: 'acme', subscriber: 'no-such' })).rejects.toThrow(
      'acme has no subscriber no-such',
    )
  })

  test('is audited', async () => {
    await testSubscriber(operator, ref())
    expect(await audited()).toEqual([`subscriber.test subscriber/${subscriber.id}`])
  })
})

describe('deliveries list', () => {
  test('shows the attempts of each delivery', async () => {
    const { sk, event_id } = await deliver()
    expect(await listed()).toEqual([
      {
        id: sk,
        tenant_id: 'acme',
        subscriber_id: subscriber.id,
        event_id,
        correlation_id: expect.any(String),
        occurred_at: expect.any(String),
        type: 'order.placed',
        state: 'succeeded',
        attempted: 1,
        latest: '200',
        attempts: [expect.objectContaining({ status: 200, answer: 'the answer' })],
      },
    ])
  })

  test('shows when a failed attempt is repeated', async () => {
    await deliver(503)
    const [line] = await listed()
    expect(line).toMatchObject({ state: 'waiting', latest: '503' })
    expect(line?.next_at).toBe(new Date(service.clock.now() + 5000).toISOString())
  })

  test('with a status shows those in it only', async () => {
    const { sk } = await deliverInVain()
    await deliver()
    expect((await listed({ status: 'failed' })).map(({ id }) => id)).toEqual([sk])
  })

  test('shows those with a failed attempt and its answer, whatever came after it', async () => {
    const waiting = await deliver(500)
    await deliver()
    const failed = () => listed({ status: 'failed-attempt' })
    expect(await failed()).toMatchObject([{ id: waiting.sk, state: 'waiting', answer: 'the answer' }])
    service.respond = () => ({ status: 200, answer: 'done' })
    await service.runFor(60)
    expect(await failed()).toMatchObject([{ id: waiting.sk, state: 'succeeded', answer: 'the answer' }])
  })

  test('without a tenant shows the failed ones of all tenants, by the time of the failure', async () => {
    const { sk } = await deliverInVain()
    await deliver()
    const failedAt = service.clock.now()
    const anywhere = { tenant: undefined, target: undefined }
    expect(await listed(anywhere)).toMatchObject([{ id: sk, tenant_id: 'acme', state: 'failed' }])
    expect(await listed({ ...anywhere, to: failedAt - 48 * hour })).toEqual([])
  })

  test('without a tenant shows none that was sent again since', async () => {
    const { sk } = await deliverInVain()
    service.respond = () => ({ status: 200, answer: '' })
    await resend(operator, 'acme', sk)
    await service.run()
    expect(await listed({ tenant: undefined, target: undefined })).toEqual([])
  })

  test('without a tenant shows one that failed again once', async () => {
    const { sk } = await deliverInVain()
    await resend(operator, 'acme', sk)
    await service.runFor(60 * 3600)
    const ids: string[] = []
    let cursor: string | undefined
    // Also over pages.
    do {
      const page = await readDeliveries(reachTo(service.tableName), { limit: 1, cursor })
      ids.push(...page.lines.map(({ id }) => id))
      ;({ cursor } = page)
    } while (cursor !== undefined)
    expect(ids).toEqual([sk])
  })

  test('without a tenant needs one for any other status', async () => {
    await expect(listed({ tenant: undefined, status: 'suspended' })).rejects.toThrow('--tenant')
  })

  test('with --from and --to shows the events of that time, without those of its end', async () => {
    await deliver()
    service.clock.advance(hour)
    const from = service.clock.now()
    const { sk } = await deliver()
    service.clock.advance(hour)
    const to = service.clock.now()
    await deliver()
    expect((await listed({ from, to })).map(({ id }) => id)).toEqual([sk])
  })

  test('shows none of another subscriber', async () => {
    await deliver()
    expect(await listed({ target: 'other' })).toEqual([])
  })

  test('does not show the data of an event', async () => {
    await deliver()
    expect(JSON.stringify(await listed())).not.toContain('order-')
  })
})

describe('deliveries resend', () => {
  test('sends a delivery that had failed again, with the same event id and body', async () => {
    const { sk, event_id, body } = await deliverInVain()
    service.received.length = 0
    service.respond = () => ({ status: 200, answer: '' })
    await resend(operator, 'acme', sk)
    await service.run()
    expect(service.received).toMatchObject([{ eventId: event_id, body }])
    expect((await listed())[0]).toMatchObject({ state: 'succeeded' })
  })

  test('starts the schedule of attempts over', async () => {
    const { sk } = await deliverInVain()
    await resend(operator, 'acme', sk)
    await service.run()
    expect((await listed())[0]).toMatchObject({ state: 'waiting', attempted: 9 })
  })

  test('sends one that had succeeded, too', async () => {
    const { sk, event_id } = await deliver()
    await resend(operator, 'acme', sk)
    await service.run()
    expect(eventsReceived()).toEqual([event_id, event_id])
  })

  test('is made by the sweep if its message is lost', async () => {
    const { sk, event_id } = await deliver()
    await resend({ ...operator, send: async () => {} }, 'acme', sk)
    await service.runFor(120)
    expect(eventsReceived()).toEqual([event_id, event_id])
  })

  test('calls once if the sweep runs before its message is received', async () => {
    const { sk } = await deliver()
    await resend(operator, 'acme', sk)
    await service.sweep()
    await service.run()
    await service.runFor(120)
    expect(service.received).toHaveLength(2)
  })

  test('shortly before the delivery would expire has all attempts of the schedule', async () => {
    const { sk, expires_at } = await deliver()
    service.clock.advance((expires_at - 3600) * 1000 - service.clock.now())
    service.respond = () => ({ status: 500, answer: '' })
    await resend(operator, 'acme', sk)
    await service.run()
    await service.runFor(60 * 3600)
    expect((await listed())[0]).toMatchObject({ state: 'failed', latest: '500', attempted: 9 })
  })

  test('that is suspended until the delivery expires has failed, and calls nobody', async () => {
    const { sk } = await deliver()
    await service.change(subscriber, { state: 'paused' })
    await resend(operator, 'acme', sk)
    await service.run()
    const [{ expires_at } = { expires_at: 0 }] = await service.deliveries()
    service.clock.advance(expires_at * 1000 - service.clock.now())
    await service.change(subscriber, { state: 'active' })
    await service.runFor(120)
    expect((await listed({ status: 'failed' }))[0]).toMatchObject({ id: sk, latest: 'expired' })
    expect(service.received).toHaveLength(1)
  })

  test.each([
    ['fails', 500],
    ['succeeds', 200],
  ])('during an attempt that %s leads to a call after it', async (_, status) => {
    const { sk } = await deliver(500)
    service.respond = async () => {
      if (service.received.length > 2) return { status: 204, answer: '' }
      await resend(operator, 'acme', sk)
      return { status, answer: '' }
    }
    await service.runFor(5)
    expect((await listed())[0]).toMatchObject({ state: 'succeeded', latest: '204' })
  })

  test('takes the place of a retry that is queued', async () => {
    const { sk } = await deliver(500)
    await resend(operator, 'acme', sk)
    service.respond = () => ({ status: 200, answer: '' })
    await service.runFor(120)
    expect(service.received).toHaveLength(2)
  })

  test('waits for a subscriber that pauses by its breaker, once', async () => {
    const { sk } = await deliver()
    const open_until = service.clock.now() + hour
    const health = healthKey({ tenant: 'acme', subscriber: subscriber.id })
    await service.table.put({ item: { ...health, open_until }, condition: 'none' })
    await resend(operator, 'acme', sk)
    await service.run()
    expect(await service.waiting()).toMatchObject([{ delivery: sk }])
  })

  test('that meets a new attempt is decided again', async () => {
    const { sk } = await deliver(500)
    const { table } = operator
    let isFirst = true
    const racing: SubscriberOperator = {
      ...operator,
      table: {
        ...table,
        transact: async (changes) => {
          if (isFirst) {
            isFirst = false
            await service.runFor(5)
          }
          return table.transact(changes)
        },
      },
    }
    await resend(racing, 'acme', sk)
    await service.run()
    expect((await listed())[0]).toMatchObject({ attempted: 3 })
  })

  test('refuses a delivery that does not exist', async () => {
    await expect(resend(operator, 'acme', subscriber.id)).rejects.toThrow(
      `acme has no delivery ${subscriber.id}`,
    )
  })

  test('says that one of an active subscriber waits', async () => {
    const { sk } = await deliver()
    expect(await resend(operator, 'acme', sk)).toBe('waiting')
  })

  test('says that one of a paused subscriber is suspended', async () => {
    const { sk } = await deliver()
    await service.change(subscriber, { state: 'paused' })
    const state = await resend(operator, 'acme', sk)
    await service.run()
    expect([state, (await listed())[0]?.state]).toEqual(['suspended', 'suspended'])
  })

  test('refuses one that has expired, which TTL deletes later', async () => {
    const { sk, expires_at } = await deliver()
    service.clock.advance(expires_at * 1000 - service.clock.now())
    await expect(resend(operator, 'acme', sk)).rejects.toThrow(`the delivery ${sk} has expired`)
  })

  test('refuses those of a blocked tenant', async () => {
    const { sk } = await deliver()
    await service.table.put(blockedTenantsPut(['acme'], { tenants: [], version: 0 }))
    await expect(resend(operator, 'acme', sk)).rejects.toThrow(naming('acme … blocked'))
  })

  test('refuses one of a subscriber that was deleted', async () => {
    const { sk } = await deliver()
    await service.table.transact(deleteSubscriber(subscriber))
    await expect(resend(operator, 'acme', sk)).rejects.toThrow(naming(`acme … ${subscriber.id}`))
  })

  test('is audited', async () => {
    const { sk } = await deliver()
    await resend(operator, 'acme', sk)
    expect(await audited()).toEqual([`delivery.resend delivery/${sk}`])
  })
})

describe('events replay --subscriber', () => {
  async function window(work: () => Promise<unknown>) {
    const from = new Date(service.clock.now())
    await work()
    service.clock.advance(1)
    return { from, to: new Date(service.clock.now()) }
  }

  test('sends what had succeeded and failed in that time again, with the same event ids', async () => {
    await deliver()
    service.clock.advance(hour)
    const events: string[] = []
    const range = await window(async () => {
      events.push((await deliver()).event_id)
      service.clock.advance(1)
      events.push((await deliverInVain()).event_id)
    })
    service.received.length = 0
    service.respond = () => ({ status: 200, answer: '' })
    expect(await replayDeliveries(operator, ref(), { window: range })).toBe(2)
    await service.run()
    expect(eventsReceived().sort()).toEqual(events.sort())
  })

  test('sends what was skipped, and leaves no entry of it', async () => {
    const range = await window(async () => {
      await service.change(subscriber, { state: 'paused' })
      await service.publish()
      await service.run()
    })
    await resumeSubscriber(operator, ref(), { skip: true })
    expect(await replayDeliveries(operator, ref(), { window: range })).toBe(1)
    await service.runFor(120)
    expect([service.received.length, await service.waiting()]).toEqual([1, []])
  })

  test('sends no test events again', async () => {
    const range = await window(() => testSubscriber(operator, ref()))
    expect(await replayDeliveries(operator, ref(), { window: range })).toBe(0)
  })

  test('leaves alone what is still to be sent', async () => {
    const range = await window(() => deliver(500))
    expect(await replayDeliveries(operator, ref(), { window: range })).toBe(0)
  })

  test('leaves out what has expired, which TTL deletes later', async () => {
    const range = await window(async () => {
      const { expires_at } = await deliver()
      service.clock.advance(expires_at * 1000 - service.clock.now())
      await deliver()
    })
    expect(await replayDeliveries(operator, ref(), { window: range })).toBe(1)
  })

  test('refuses those of a blocked tenant', async () => {
    const range = await window(() => deliver())
    await service.table.put(blockedTenantsPut(['acme'], { tenants: [], version: 0 }))
    await expect(replayDeliveries(operator, ref(), { window: range })).rejects.toThrow(
      naming('acme … blocked'),
    )
  })

  test('sends nothing to other subscribers', async () => {
    const other = await service.add({ id: `${subscriber.id.slice(0, -2)}ff`, url: 'https://other.example/' })
    const range = await window(() => deliver())
    service.received.length = 0
    await replayDeliveries(operator, ref(), { window: range })
    await service.run()
    expect(service.received.map((one) => one.subscriber)).not.toContain(other.id)
  })

  test('refuses a subscriber that does not exist', async () => {
    const range = await window(() => deliver())
    const missing = { tenant: 'acme', subscriber: 'no-such' }
    await expect(replayDeliveries(operator, missing, { window: range })).rejects.toThrow(
      'acme has no subscriber no-such',
    )
  })

  test('is audited once, with its time', async () => {
    const range = await window(async () => {
      await deliver()
      service.clock.advance(1)
      await deliver()
    })
    await replayDeliveries(operator, ref(), { window: range })
    const records = (await service.audit()).filter(({ actor_id }) => actor_id === 'jane')
    expect(records).toMatchObject([
      {
        action: 'subscriber.replay',
        target: `subscriber/${subscriber.id}`,
        after: { from: range.from.toISOString(), to: range.to.toISOString() },
      },
    ])
  })
})

describe('subscribers resume', () => {
  /** Pauses the subscriber while events are published. */
  async function suspendEvents(): Promise<string[]> {
    await service.change(subscriber, { state: 'paused' })
    const events = [(await service.publish()).event_id, (await service.publish()).event_id]
    await service.run()
    return events
  }

  test('sends the suspended events', async () => {
    const events = await suspendEvents()
    await resumeSubscriber(operator, ref(), { skip: false })
    await service.runFor(120)
    expect(eventsReceived().sort()).toEqual(events.sort())
  })

  test('with --skip drops the suspended events, and says how many', async () => {
    await suspendEvents()
    expect(await resumeSubscriber(operator, ref(), { skip: true })).toMatchObject({ skipped: 2 })
    await service.runFor(120)
    expect(service.received).toEqual([])
    expect((await listed()).map(({ state }) => state)).toEqual(['skipped', 'skipped'])
  })

  test('with --skip drops what waits for a retry in the table, too', async () => {
    await deliver(500)
    await service.runFor(600)
    await suspendEvents()
    expect(await resumeSubscriber(operator, ref(), { skip: true })).toMatchObject({ skipped: 3 })
    service.received.length = 0
    await service.runFor(3600)
    expect(service.received).toEqual([])
  })

  test('with --skip drops an event with two entries', async () => {
    await suspendEvents()
    const [entry] = await service.waiting()
    if (!entry) throw new Error('there is no entry')
    // The sweep had queued it, and was stopped before it removed the earlier entry.
    const other = entry.sk.endsWith('0') ? '1' : '0'
    await service.table.insertMany([{ ...entry, sk: `${entry.sk.slice(0, -1)}${other}` }])
    expect(await service.waiting()).toHaveLength(3)
    expect(await resumeSubscriber(operator, ref(), { skip: true })).toMatchObject({ skipped: 2 })
  })

  test('with --skip is audited before anything is dropped', async () => {
    await suspendEvents()
    const { table } = operator
    const interrupted: SubscriberOperator = {
      ...operator,
      table: { ...table, getMany: () => Promise.reject(new Error('interrupted')) },
    }
    await expect(resumeSubscriber(interrupted, ref(), { skip: true })).rejects.toThrow('interrupted')
    expect(await audited()).toEqual([`subscriber.skip subscriber/${subscriber.id}`])
  })

  test('with --skip drops nothing of a subscriber that was resumed meanwhile', async () => {
    const events = await suspendEvents()
    const { table } = operator
    const racing: SubscriberOperator = {
      ...operator,
      table: {
        ...table,
        transact: async (changes) => {
          await resumeSubscriber(operator, ref(), { skip: false })
          return table.transact(changes)
        },
      },
    }
    await expect(resumeSubscriber(racing, ref(), { skip: true })).rejects.toThrow(
      `the subscriber ${subscriber.id} has changed: 0 deliveries were dropped`,
    )
    await service.runFor(120)
    expect(eventsReceived().sort()).toEqual(events.sort())
  })

  test('with --skip reports its progress', async () => {
    await suspendEvents()
    const reported: string[] = []
    await resumeSubscriber(operator, ref(), { skip: true, report: (line) => reported.push(line) })
    expect(reported).toEqual(['2 deliveries dropped'])
  })

  test('with --skip leaves no entry of a dropped event', async () => {
    await suspendEvents()
    await resumeSubscriber(operator, ref(), { skip: true })
    expect(await service.waiting()).toEqual([])
  })

  test('with --skip drops more events than one page of entries', async () => {
    await service.change(subscriber, { state: 'paused' })
    for (let n = 0; n < 101; n += 1) await service.publish()
    await service.run()
    expect(await resumeSubscriber(operator, ref(), { skip: true })).toMatchObject({ skipped: 101 })
  })
})
