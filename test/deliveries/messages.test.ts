import { beforeEach, describe, expect, test } from '@jest/globals'
import type { SubscriberRequest, SubscriberResponse } from '#shared/deliveries/call-subscriber.ts'
import { type Delivery, dueAt, pingType, type WaitingEntry } from '#shared/deliveries/delivery.ts'
import { queuedDelivery } from '#shared/deliveries/schedule-delivery.ts'
import type { Subscriber } from '#shared/subscribers/subscriber.ts'
import { type DeliveryService, startDeliveries, steadySettings } from './delivery-service.ts'

const ok = { status: 200, answer: '' }
const failing = { status: 500, answer: 'sorry' }
const timeoutMilliseconds = steadySettings['deliveries.timeoutSeconds'] * 1000

let service: DeliveryService
let subscriber: Subscriber
let respond: (request: SubscriberRequest) => SubscriberResponse | Promise<SubscriberResponse>
beforeEach(async () => {
  service = await startDeliveries({ inMemory: true })
  subscriber = await service.add()
  respond = () => failing
  service.respond = (request) => respond(request)
})

async function stored(): Promise<Delivery> {
  const [delivery] = await service.deliveries()
  if (!delivery) throw new Error('there is no delivery')
  return delivery
}

/** Stores other attributes of the delivery. */
const change = async (changes: Partial<Delivery>) =>
  service.table.put({ item: { ...(await stored()), ...changes }, condition: 'none' })

/** Puts a message of an attempt of the stored delivery into the queue. */
async function redeliver(attempt: number): Promise<void> {
  const { sk } = await stored()
  service.put(queuedDelivery({ tenant: 'acme', subscriber: subscriber.id, delivery: sk, attempt }))
}

const waitingUntil = async () =>
  (await service.waiting()).map((entry) => dueAt(entry as unknown as WaitingEntry) - service.clock.now())

describe('a message', () => {
  test.each(['nonsense', '{"tenant":"acme","subscriber":"s"}'])(
    'that is no delivery fails, and no other of its batch: %s',
    async (body) => {
      respond = () => ok
      service.put({ body, group: 'other' })
      await service.publish()
      await service.run()
      expect(service.deadLetters).toEqual([body])
      expect((await stored()).state).toBe('succeeded')
    },
  )

  test('of a delivery that has expired calls nobody, and the delivery has failed', async () => {
    await service.publish()
    await service.run()
    await change({ expires_at: service.clock.now() / 1000 })
    await service.runFor(5)
    expect(service.received).toHaveLength(1)
    expect(await stored()).toMatchObject({
      state: 'failed',
      attempts: [{ status: 500 }, { reason: 'expired' }],
    })
    expect(await service.waiting()).toEqual([])
  })

  test.each(['succeeded', 'skipped'] as const)('of a delivery that has %s calls nobody', async (state) => {
    await service.publish()
    await service.run()
    await change({ state })
    await service.runFor(5)
    expect(service.received).toHaveLength(1)
  })

  test('that the queue does not accept for the next attempt is sent by the sweep', async () => {
    await service.publish()
    service.queueIsFull = true
    await service.run()
    service.queueIsFull = false
    await service.runFor(120)
    expect(service.received).toHaveLength(2)
    expect(service.deadLetters).toEqual([])
  })

  test('is signed with its event and the time of the call', async () => {
    let signed: string | undefined
    respond = ({ headers }) => {
      signed = headers.signed
      return ok
    }
    const { event_id: eventId } = await service.publish()
    await service.run()
    expect(signed).toBe(`${eventId} ${service.clock.now()}`)
  })

  test('is sent with the time limit of the settings', async () => {
    let limit = 0
    respond = (request) => {
      limit = request.timeoutMilliseconds
      return ok
    }
    await service.publish()
    await service.run()
    expect(limit).toBe(timeoutMilliseconds)
  })
})

describe('a copy of a message whose attempt is recorded', () => {
  test('sends nothing and calls nobody, and the next attempt is made once', async () => {
    await service.publish()
    await service.run()
    const before = service.queued()
    await redeliver(1)
    await service.run()
    expect(service.queued()).toEqual(before)
    expect(service.received).toHaveLength(1)
    respond = () => ok
    await service.runFor(180)
    expect(service.received).toHaveLength(2)
    expect(await service.waiting()).toEqual([])
  })

  test('leaves the next attempt to the sweep if its message is lost', async () => {
    await service.publish()
    await service.run()
    // A process with a queue of its own.
    const { clock, tableName, table: ofFunctions } = service
    const others = await startDeliveries({ clock, tableName, ofFunctions })
    const { sk } = await stored()
    others.put(queuedDelivery({ tenant: 'acme', subscriber: subscriber.id, delivery: sk, attempt: 1 }))
    await others.run()
    service.clock.advance(5000 + 59_999)
    expect(await others.sweep()).toMatchObject({ queued: 0 })
    service.clock.advance(1)
    expect(await others.sweep()).toMatchObject({ queued: 1 })
    await others.run()
    expect(others.received).toHaveLength(1)
  })

  test('leaves one entry in the table with another copy at the same time', async () => {
    await service.publish()
    await service.run()
    await redeliver(1)
    await redeliver(1)
    await service.run()
    expect(await service.waiting()).toHaveLength(1)
  })

  test('sends nothing while the delivery waits in the table', async () => {
    await service.publish()
    await service.run()
    await change({ waiting: 'an entry' })
    const before = service.queued().length
    await redeliver(1)
    await service.run()
    expect(service.queued()).toHaveLength(before)
    expect(await service.waiting()).toEqual([])
  })

  test('sends nothing after a later attempt', async () => {
    await service.publish()
    await service.runFor(5)
    const before = service.queued()
    await redeliver(1)
    await service.run()
    expect(service.queued()).toEqual(before)
  })
})

describe('a record whose response is lost', () => {
  test('is still followed by the next attempt', async () => {
    const { put } = service.table
    service.table.put = async (change) => (await put(change)) ?? put(change)
    await service.publish()
    await service.run()
    service.table.put = put
    expect(service.queued()).toEqual([])
    await service.runFor(180)
    expect(service.received).toHaveLength(2)
  })
})

describe('a retry', () => {
  test.each([
    ['900 s waits in the queue', 900, 1, []],
    ['901 s waits in the table', 901, 0, [901_000]],
  ])('that is due after %s', async (_, seconds, queued, waiting) => {
    respond = () => ({ ...failing, retryAfter: String(seconds) })
    await service.publish()
    await service.run()
    expect(service.queued()).toHaveLength(queued)
    expect(await waitingUntil()).toEqual(waiting)
  })

  test('of a subscriber that was paused is suspended until its time', async () => {
    await service.publish()
    await service.run()
    await service.change(subscriber, { state: 'paused' })
    await redeliver(2)
    await service.run()
    expect(await waitingUntil()).toEqual([5000])
  })
})

test('a first attempt of a subscriber that was paused meanwhile is suspended', async () => {
  await service.publish()
  await service.change(subscriber, { state: 'paused' })
  await service.run()
  expect(await stored()).toMatchObject({ state: 'suspended', attempted: 0, attempts: [] })
})

test('an event is suspended at once for a paused subscriber, and no message is sent', async () => {
  await service.change(subscriber, { state: 'paused' })
  await service.publish()
  expect(service.queued()).toEqual([])
  expect((await stored()).state).toBe('suspended')
})

test('a delivery whose failure disables its subscriber is sent after it is resumed', async () => {
  respond = () => ({ status: 410, answer: '' })
  await service.publish()
  await service.run()
  expect((await service.subscriber(subscriber))?.state).toBe('disabled')
  await service.change(subscriber, { state: 'active' })
  respond = () => ok
  await service.runFor(90)
  expect((await stored()).state).toBe('succeeded')
})

test('a slow test of an operator needs no slot', async () => {
  let permitted: boolean | undefined
  respond = async (request) => {
    permitted = await request.slow.mayContinue()
    return ok
  }
  await service.change(subscriber, { events: [pingType] })
  await service.publish({ type: pingType })
  await service.run()
  expect(permitted).toBe(true)
  expect(await service.health(subscriber)).toBeUndefined()
})
