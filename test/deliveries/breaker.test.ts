import { beforeEach, describe, expect, jest, test } from '@jest/globals'
import { readDeliveries } from '#bin/commands/ask/lists.ts'
import { deliveryId, waitingEntry } from '#shared/deliveries/delivery.ts'
import { queuedDelivery } from '#shared/deliveries/schedule-delivery.ts'
import { breaker, breakerOf } from '#shared/deliveries/subscriber-health.ts'
import { logSweep, type SweptDeliveries } from '#shared/deliveries/sweep-deliveries.ts'
import { adjacentId } from '#shared/platform/base/clock.ts'
import { ownerOf, pendingKeyOf } from '#shared/platform/table/keys.ts'
import { deleteSubscriber, type Subscriber } from '#shared/subscribers/subscriber.ts'
import { reachTo } from '#test/operators/reach-to.ts'
import { type DeliveryService, startDeliveries, steadySettings, subscriberId } from './delivery-service.ts'

const ok = { status: 200, answer: '' }
const timeout = { reason: 'timeout' } as const
const { timeouts, pauseSeconds, maxPauseSeconds } = breaker

let service: DeliveryService
let subscriber: Subscriber
beforeEach(async () => {
  service = await startDeliveries()
  subscriber = await service.add()
})

async function publish(count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) await service.publish()
}

describe('the breaker', () => {
  /** Lets the subscriber hang until its breaker opens. */
  async function open(): Promise<void> {
    service.respond = () => timeout
    await publish(timeouts)
    await service.run()
  }

  const state = async () => breakerOf(await service.health(subscriber), service.clock.now())

  test('opens after timeouts in a row', async () => {
    service.respond = () => timeout
    await publish(timeouts - 1)
    await service.run()
    expect(await state()).toBe('closed')
    await publish(1)
    await service.run()
    expect(await state()).toBe('open')
  })

  test('does not open for failures that are fast, or for timeouts with responses between', async () => {
    let calls = 0
    service.respond = () => (calls++ % 2 === 0 ? timeout : { status: 500, answer: '' })
    for (let n = 0; n < 3 * timeouts; n += 1) {
      await publish(1)
      await service.run()
    }
    expect(await state()).toBe('closed')
  })

  test.each([
    ['less than a minute wait in the queue', 59_999, 20, 0],
    ['a minute wait in the table', 60_000, 0, 20],
  ])('calls nobody in its pause: first attempts of events of %s', async (_, age, queued, waiting) => {
    await open()
    const calls = service.received.length
    const occurred_at = new Date(service.clock.now() - age).toISOString()
    for (let n = 0; n < 20; n += 1) await service.publish({ occurred_at })
    await service.run()
    expect(service.received).toHaveLength(calls)
    // Those that timed out have a retry.
    expect(service.queued()).toHaveLength(timeouts + queued)
    expect(await service.waiting()).toHaveLength(waiting)
  })

  test('lets exactly one call probe after its pause, and doubles the pause of one that hangs', async () => {
    await open()
    await publish(20)
    await service.run()
    const pauses: number[] = []
    for (let round = 0; round < 7; round += 1) {
      const until = (await service.health(subscriber))?.open_until ?? 0
      pauses.push((until - service.clock.now()) / 1000)
      service.clock.advance(until - service.clock.now())
      const calls = service.received.length
      await service.sweep()
      await service.run()
      expect(service.received.length - calls).toBe(1)
    }
    expect(pauses).toEqual(
      [30, 60, 120, 240, 480, 900, 900].map((seconds) => Math.min(seconds, maxPauseSeconds)),
    )
    expect(pauses[0]).toBe(pauseSeconds)
  })

  test('lets one of several calls probe that start at the same time', async () => {
    await open()
    service.clock.advance(pauseSeconds * 1000)
    const calls = service.received.length
    service.respond = () => timeout
    await publish(5)
    await service.run()
    expect(service.received.length - calls).toBe(1)
  })

  test('closes when a probe succeeds, and the sweep queues what waited', async () => {
    await open()
    await publish(10)
    await service.run()
    service.respond = () => ok
    await service.runFor(3600)
    expect(await state()).toBe('closed')
    expect((await service.deliveries()).map((one) => one.state)).toEqual(Array(15).fill('succeeded'))
    expect(await service.waiting()).toEqual([])
  })

  test('lets another call probe if the first one was killed', async () => {
    await open()
    service.clock.advance(pauseSeconds * 1000)
    const started = Promise.withResolvers<void>()
    service.respond = () => {
      started.resolve()
      return new Promise(() => {})
    }
    await publish(1)
    void service.run()
    await started.promise
    service.respond = () => ok
    await publish(1)
    await service.run()
    expect(await state()).toBe('half_open')
    service.clock.advance(60_000)
    await publish(1)
    await service.run()
    expect(await state()).toBe('closed')
  })
})

describe('the sweep', () => {
  /** Lets deliveries of a subscriber wait that are due now. */
  async function wait(of: Subscriber, count: number): Promise<void> {
    const ref = { tenant: of.tenant_id, subscriber: of.id }
    for (let n = 0; n < count; n += 1) {
      const delivery = { sk: subscriberId(n), attempted: 3, expires_at: 9e9 } as never
      await service.table.insertMany([
        waitingEntry(ref, delivery, service.clock.now() - 1000 + n, service.clock),
      ])
    }
  }

  test('queues a thousand deliveries of a tenant in a minute, and all of one that has fewer', async () => {
    service = await startDeliveries({ inMemory: true })
    await wait(await service.add(), 700)
    await wait(await service.add({ id: subscriberId(7) }), 700)
    await wait(await service.add({ id: subscriberId(8), tenant_id: 'rival' }), 200)
    expect(await service.sweep()).toEqual({ queued: 1200, failed: 0, left: 0 })
    expect(await service.waiting()).toHaveLength(400)
    expect(await service.waiting('rival')).toEqual([])
  })

  test('sends those of a tenant evenly in the minute until its next run', async () => {
    service = await startDeliveries({ inMemory: true })
    await service.add()
    await wait(subscriber, 1000)
    await service.sweep()
    const delays = service.queued().map(({ delaySeconds }) => delaySeconds)
    expect([delays[0], delays[500], delays[999]]).toEqual([0, 30, 58])
  })

  test('queues the deliveries of a subscriber that are due first', async () => {
    service = await startDeliveries({ inMemory: true })
    await service.add()
    await wait(subscriber, 1010)
    await service.sweep()
    expect((await service.waiting()).map(({ delivery }) => delivery)).toEqual(
      Array.from({ length: 10 }, (_, n) => subscriberId(1000 + n)),
    )
  })

  test.each([
    ['before', 1, 7],
    ['after', 7, 1],
  ])('queues the delivery of a subscriber %s one with a backlog', async (_, backlogged, other) => {
    service = await startDeliveries({ inMemory: true })
    await wait(await service.add({ id: subscriberId(backlogged) }), 2000)
    await wait(await service.add({ id: subscriberId(other) }), 1)
    await service.sweep()
    const left = (await service.waiting()).map(({ sk }) => sk.split('#')[0])
    expect(left).not.toContain(subscriberId(other))
    expect(left).toHaveLength(1001)
  })

  test('reaches a subscriber behind a thousand others of its partition', async () => {
    service = await startDeliveries({ inMemory: true })
    await service.add()
    const { pk } = pendingKeyOf('registered-subscriber', subscriber.id)
    for (let n = 0, sk = subscriber.id; n < 1000; n += 1) {
      sk = adjacentId(sk, -1)
      await service.table.put({ item: { pk, sk, tenant: 'other' }, condition: 'none' })
    }
    await wait(subscriber, 1)
    expect((await service.sweep()).queued).toBe(1)
  })

  test('queues nothing before it is due', async () => {
    await wait(subscriber, 1)
    service.clock.advance(-2000)
    expect(await service.sweep()).toEqual({ queued: 0, failed: 0, left: 0 })
  })

  test.each([
    ['is paused', () => service.change(subscriber, { state: 'paused' })],
    ['is disabled', () => service.change(subscriber, { state: 'disabled' })],
    ['was deleted', () => service.table.transact(deleteSubscriber(subscriber))],
    ['belongs to a blocked tenant', () => service.blocked.add('acme')],
  ])('queues nothing of a subscriber that %s', async (_, change) => {
    await wait(subscriber, 1)
    await change()
    expect(await service.sweep()).toEqual({ queued: 0, failed: 0, left: 0 })
    expect(await service.waiting()).toHaveLength(1)
  })

  test('loses nothing if the queue fails, and goes on with other subscribers', async () => {
    const other = await service.add({ id: subscriberId(7) })
    await wait(subscriber, 1)
    await wait(other, 1)
    const due = service.clock.now() - 1000
    let sends = 0
    service.beforeSend = () => {
      sends += 1
      if (sends === 1) throw new Error('unavailable')
    }
    expect(await service.sweep()).toEqual({
      ...{ queued: 1, failed: 1, left: 0 },
      fault: new Error('unavailable'),
      oldest: due,
    })
    expect(await service.waiting()).toHaveLength(1)
    expect(await service.sweep()).toEqual({ queued: 1, failed: 0, left: 0 })
  })

  test('goes on with other subscribers if the deliveries of one cannot be read', async () => {
    const other = await service.add({ id: subscriberId(7) })
    await wait(subscriber, 1)
    await wait(other, 1)
    const { readRange } = service.table
    const fault = new Error('throttled')
    service.table.readRange = async (range) => {
      if (range.low.startsWith(subscriber.id)) throw fault
      return readRange(range)
    }
    expect(await service.sweep()).toEqual({ queued: 1, failed: 1, left: 0, fault })
  })

  test('reads one page of a subscriber that is paused', async () => {
    await wait(subscriber, 30)
    await service.change(subscriber, { state: 'paused' })
    const { readRange } = service.table
    let read = 0
    service.table.readRange = async (range) => {
      const result = await readRange(range)
      if (ownerOf(range.partition).kind === 'waiting_delivery') read += result.items.length
      return result
    }
    await service.sweep()
    expect(read).toBe(20)
  })

  test('keeps the entry of a message that has to wait again before it removes the earlier entry', async () => {
    service.respond = () => timeout
    await publish(timeouts)
    await service.run()
    await service.publish({ occurred_at: new Date(service.clock.now() - 60_000).toISOString() })
    await service.run()
    const { open_until = 0 } = (await service.health(subscriber)) ?? {}
    service.clock.advance(open_until - service.clock.now())
    // The clock of the next process is behind, so the breaker is still open for it.
    service.beforeSend = () => service.clock.advance(-5)
    service.beforeRemoval(() => service.run())
    await service.sweep()
    expect(await service.waiting()).toHaveLength(timeouts + 1)
  })

  test('removes an entry only after its message was sent', async () => {
    await wait(subscriber, 1)
    let waiting = 0
    const { table } = service
    const { transact } = table
    Object.assign(table, {
      transact: async (changes: never) => {
        waiting = service.queued().length
        return transact(changes)
      },
    })
    await service.sweep()
    expect(waiting).toBe(1)
  })

  /** Lets each read of waiting deliveries take some time. */
  function readSlowly(milliseconds: number): void {
    const { readRange } = service.table
    service.table.readRange = (range) => {
      if (ownerOf(range.partition).kind === 'waiting_delivery') service.clock.advance(milliseconds)
      return readRange(range)
    }
  }

  test('stops in time, and reports how long it takes to reach all subscribers', async () => {
    service = await startDeliveries({ inMemory: true })
    for (let n = 0; n < 40; n += 1) await service.add({ id: subscriberId(n) })
    readSlowly(20_000)
    const start = service.clock.now()
    // The first read ends the run.
    expect(await service.sweep()).toEqual({
      ...{ queued: 0, failed: 0, left: 39 },
      oldest: start - 40 * 60_000,
    })
  })

  test('reaches all subscribers in turn if a run reaches only some', async () => {
    service = await startDeliveries({ inMemory: true })
    for (let n = 0; n < 40; n += 1) await wait(await service.add({ id: subscriberId(n) }), 1)
    for (let run = 0; run < 13; run += 1) {
      const start = service.clock.now()
      const { readRange } = service.table
      readSlowly(2000)
      await service.sweep()
      service.table.readRange = readRange
      service.clock.advance(60_000 - (service.clock.now() - start))
    }
    expect(await service.waiting()).toEqual([])
  })

  const logged = (swept: SweptDeliveries) => {
    const job = jest.fn()
    const pending = jest.fn()
    logSweep(swept, { log: { job, pending } as never, clock: service.clock })
    return { job: job.mock.calls, pending: pending.mock.calls }
  }

  test('does not fail if it did not reach all subscribers, and reports how old their deliveries are', () => {
    const oldest = service.clock.now() - 120_000
    expect(logged({ queued: 2, failed: 0, left: 7, oldest })).toEqual({
      job: [[{ code: 'DELIVERIES_LEFT', done: 2, failed: 0 }]],
      pending: [['deliveries', 120]],
    })
  })

  test('fails with the fault of a subscriber', () => {
    const fault = new Error('throttled')
    expect(logged({ queued: 0, failed: 1, fault, left: 0 })).toEqual({
      job: [[{ code: 'DELIVERIES_LEFT', done: 0, failed: 1, fault }]],
      pending: [],
    })
  })
})

describe('a delivery that waits for its subscriber', () => {
  /** Publishes an event so many times, whose first attempt fails, and opens the breaker before the second one. */
  async function failThenOpen(times: number) {
    service.respond = () => ({ status: 500, answer: '' })
    const event = await service.publish()
    for (let n = 1; n < times; n += 1) await service.publish(event)
    await service.run()
    service.respond = () => timeout
    await publish(timeouts)
    await service.run()
    return event
  }

  test('is listed with the time of its next attempt', async () => {
    service.respond = () => ({ status: 500, answer: '' })
    await publish(1)
    await service.run()
    service.respond = () => timeout
    await publish(timeouts)
    await service.run()
    const { open_until = 0 } = (await service.health(subscriber)) ?? {}
    service.clock.advance(5000)
    await service.run()
    const query = { tenant: subscriber.tenant_id, target: subscriber.id, limit: 10 }
    const { lines: entries } = await readDeliveries(reachTo(service.tableName), query)
    expect(entries.at(-1)).toMatchObject({ attempted: 1, next_at: new Date(open_until).toISOString() })
  })

  test.each([
    ['a copy', 1],
    ['a copy, as its first one had', 2],
  ])('has one entry although its message has %s', async (_, published) => {
    const event = await failThenOpen(published)
    const delivery = deliveryId({ subscriber: subscriber.id }, event)
    service.put(queuedDelivery({ tenant: 'acme', subscriber: subscriber.id, delivery, attempt: 2 }))
    service.clock.advance(5000)
    await service.run()
    expect((await service.waiting()).filter((entry) => entry.delivery === delivery)).toHaveLength(1)
  })

  test.each([1, 2])(
    'is called once for its next attempt although its message had copies: %i',
    async (copies) => {
      const settings = {
        ...steadySettings,
        'deliveries.breaker': { timeouts, pauseSeconds: 600, maxPauseSeconds },
      }
      service = await startDeliveries({ settings })
      await service.add()
      const event = await failThenOpen(1 + copies)
      service.received.length = 0
      service.respond = () => ok
      await service.runFor(1200)
      expect(service.received.filter(({ eventId }) => eventId === event.event_id)).toHaveLength(1)
    },
  )
})
