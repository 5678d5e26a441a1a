import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { SubscriberRequest, SubscriberResponse } from '#shared/deliveries/call-subscriber.ts'
import { dueAt, type WaitingEntry } from '#shared/deliveries/delivery.ts'
import { healthKey, slotsKey, slotsPerTenant } from '#shared/deliveries/subscriber-health.ts'
import type { Subscriber } from '#shared/subscribers/subscriber.ts'
import { type DeliveryService, startDeliveries, steadySettings, subscriberId } from './delivery-service.ts'

const ok = { status: 200, answer: '' }
const perTenant = slotsPerTenant(steadySettings)
const timeoutMilliseconds = steadySettings['deliveries.timeoutSeconds'] * 1000

let service: DeliveryService
let subscriber: Subscriber
beforeEach(async () => {
  service = await startDeliveries({ inMemory: true })
  subscriber = await service.add()
})

/** Answers calls after they have asked for a slot, as a slow subscriber does. */
async function slowly(request: SubscriberRequest, response: SubscriberResponse): Promise<SubscriberResponse> {
  return (await request.slow.mayContinue()) ? response : { reason: 'no_slot' }
}

async function publish(count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) await service.publish()
}

describe('slow calls of a tenant', () => {
  let permitted = 0
  let held = Promise.withResolvers<void>()
  beforeEach(() => {
    permitted = 0
    held = Promise.withResolvers()
    service.respond = async (request) => {
      if (!(await request.slow.mayContinue())) return { reason: 'no_slot' }
      permitted += 1
      await held.promise
      return ok
    }
  })
  afterEach(() => held.resolve())

  /** Lets each process make the calls of one event, and returns when each call has a slot or none. */
  async function hold(processes: number): Promise<void> {
    for (let n = 0; n < processes; n += 1) {
      const before = permitted
      await service.publish()
      const running = service.run().then(() => true)
      const inTurn = () => new Promise<boolean>((resolve) => setImmediate(() => resolve(false)))
      while (permitted === before && !(await Promise.race([running, inTurn()])));
    }
  }

  test('hold a few processes, whichever of its subscribers they call', async () => {
    await hold(perTenant - 1)
    await service.change(subscriber, { events: ['none'] })
    await service.add({ id: subscriberId(7) })
    await hold(3)
    expect(permitted).toBe(perTenant)
  })

  test('hold one slot together in one process', async () => {
    await publish(10)
    const running = service.run()
    while (permitted === 0) await new Promise(setImmediate)
    await hold(perTenant - 1)
    expect(permitted).toBe(10 + perTenant - 1)
    held.resolve()
    await running
  })

  test('that are cut off for want of a slot are recorded, and wait in the table', async () => {
    await hold(perTenant)
    await service.change(subscriber, { events: ['none'] })
    const other = await service.add({ id: subscriberId(7) })
    await service.publish()
    await service.run()
    const [delivery] = await service.deliveries()
    expect(delivery).toMatchObject({
      state: 'waiting',
      attempts: [{ reason: 'no_slot' }],
      next_at: service.clock.now() + timeoutMilliseconds,
    })
    expect((await service.health(other))?.failed_at).toBeUndefined()
    expect(await service.waiting()).toMatchObject([{ delivery: delivery?.sk, attempt: 2 }])
    expect(service.queued()).toEqual([])
    expect(service.received.filter((call) => call.subscriber === other.id)).toHaveLength(1)
  })

  test('that are cut off leave all attempts of the schedule', async () => {
    await hold(perTenant)
    await service.change(subscriber, { events: ['none'] })
    const other = await service.add({ id: subscriberId(7) })
    await service.publish()
    await service.run()
    held.resolve()
    service.respond = () => ({ status: 500, answer: '' })
    await service.runFor(30 * 3600)
    const { retriesAfterSeconds } = steadySettings['deliveries.schedule']
    expect(await service.deliveries()).toContainEqual(
      expect.objectContaining({
        subscriber_id: other.id,
        state: 'failed',
        attempted: retriesAfterSeconds.length + 2,
      }),
    )
  })

  test('are not tried without a slot while deliveries wait, however long', async () => {
    await hold(perTenant)
    const calls = service.received.length
    await service.publish({ occurred_at: new Date(service.clock.now() - 60_000).toISOString() })
    const free = service.table.update
    // The slots stay taken, as by calls that follow each other.
    for (let minute = 0; minute < 10; minute += 1) {
      const key = slotsKey({ tenant: 'acme' })
      const until = service.clock.now() + 120_000
      const slots = Object.fromEntries(Array.from({ length: perTenant }, (_, n) => [`slot_${n}`, until]))
      await free({ update: key, set: slots, condition: 'none' })
      await service.runFor(60)
    }
    expect(service.received).toHaveLength(calls)
  })

  test('that find no slot return to the queue, without an attempt', async () => {
    await hold(perTenant + 1)
    expect(service.queued()).toEqual([{ delaySeconds: 1, attempt: 1 }])
    expect(await service.deliveries()).toEqual([])
  })

  test.each([
    ['less than a minute wait in the queue', 59_999, 1, []],
    ['a minute wait in the table for the time of a call', 60_000, 0, [timeoutMilliseconds]],
  ])('that have waited for a slot for %s', async (_, waited, queued, waiting) => {
    await hold(perTenant)
    await service.publish({ occurred_at: new Date(service.clock.now() - waited).toISOString() })
    await service.run()
    expect(service.queued()).toHaveLength(queued)
    const entries = (await service.waiting()) as unknown as WaitingEntry[]
    expect(entries.map((entry) => dueAt(entry) - service.clock.now())).toEqual(waiting)
  })

  test('in one batch mark their subscriber once', async () => {
    service.respond = (request) => slowly(request, ok)
    const updated: unknown[] = []
    const { update } = service.table
    service.table.update = async (change) => {
      if ('slow_until' in change.set) updated.push(change)
      return update(change)
    }
    await publish(3)
    await service.run()
    expect(updated).toHaveLength(1)
  })

  test('keep the slot of their batch until the last one ends', async () => {
    const all = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let calls = 0
    service.respond = async (request) => {
      const mine = all[calls++]
      await request.slow.mayContinue()
      await mine?.promise
      return ok
    }
    await publish(2)
    const running = service.run()
    all[0]?.resolve()
    while ((await service.deliveries()).length === 0) await new Promise(setImmediate)
    await new Promise(setImmediate)
    expect(Number((await service.table.get(slotsKey({ tenant: 'acme' })))?.slot_0)).toBeGreaterThan(0)
    all[1]?.resolve()
    await running
    expect((await service.table.get(slotsKey({ tenant: 'acme' })))?.slot_0).toBe(0)
  })

  test('give their slots back', async () => {
    service.respond = (request) => slowly(request, ok)
    for (let round = 0; round <= perTenant; round += 1) {
      await publish(1)
      await service.run()
    }
    expect((await service.deliveries()).map(({ state }) => state)).toEqual(
      Array(perTenant + 1).fill('succeeded'),
    )
  })

  test('let nobody call a slow subscriber while they hold all slots', async () => {
    await hold(perTenant)
    await publish(2)
    await service.run()
    expect(service.received).toHaveLength(perTenant)
  })

  test('of a killed process hold their slots until their leases end', async () => {
    await hold(perTenant)
    service.clock.advance(25_001)
    await hold(1)
    expect(permitted).toBe(perTenant + 1)
  })

  test('include that of a probe', async () => {
    await hold(perTenant)
    const other = await service.add({ id: subscriberId(7), events: ['refund.*'] })
    const key = healthKey({ tenant: other.tenant_id, subscriber: other.id })
    await service.table.put({ item: { ...key, open_until: service.clock.now() - 1 }, condition: 'none' })
    await service.change(subscriber, { events: ['order.*'] })
    await service.publish({ type: 'refund.succeeded' })
    await service.run()
    expect(service.received.at(-1)?.subscriber).toBe(other.id)
    expect(permitted).toBe(perTenant)
  })

  test('leave its subscribers alone that respond in time', async () => {
    await hold(perTenant)
    await service.change(subscriber, { events: ['none'] })
    await service.add({ id: subscriberId(7) })
    service.respond = () => ok
    await publish(3)
    await service.run()
    expect((await service.deliveries()).map(({ state }) => state)).toEqual(Array(3).fill('succeeded'))
  })

  test('leave another tenant alone', async () => {
    await service.add({ id: subscriberId(7), tenant_id: 'rival' })
    await hold(perTenant)
    service.respond = (request) => slowly(request, ok)
    await service.publish({ tenant: 'rival' })
    await service.run()
    expect(await service.deliveries('rival')).toMatchObject([{ state: 'succeeded', attempted: 1 }])
  })
})

test('a subscriber that responds in time takes no slot and has no health', async () => {
  await publish(25)
  await service.run()
  expect(service.received).toHaveLength(25)
  expect(await service.health(subscriber)).toBeUndefined()
})
