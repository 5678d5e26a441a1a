import { describe, expect, test } from '@jest/globals'
import type { SubscriberResponse } from '#shared/deliveries/call-subscriber.ts'
import type { Subscriber } from '#shared/subscribers/subscriber.ts'
import {
  type DeliveryService,
  startDeliveries,
  startTime,
  steadySettings,
} from '#test/deliveries/delivery-service.ts'
import { connectionError, memoryRuntime } from '#test/support/memory-runtime.ts'
import { newMemoryTable } from '#test/support/tables.ts'

/**
 * A sender or a sweep that ends at any of its calls of the table, and any lost response: the queue repeats the message,
 * and each delivery ends as if nothing had happened, except that a call may have been made twice.
 */

type Fault = 'killed before' | 'killed after' | 'response lost at'

interface Faulty {
  service: DeliveryService
  /** Lets a call of the table fail, by its number from now on. */
  failAt(number: number, fault: Fault): void
  /** Returns whether the fault happened. */
  happened(): boolean
}

/** Ends the work on a message, as a killed process does: no further call of it takes effect. */
class Killed extends Error {}

async function faultyDeliveries(): Promise<Faulty> {
  const runtime = memoryRuntime()
  runtime.clock.advance(startTime - runtime.clock.now())
  let left = Number.POSITIVE_INFINITY
  let planned: Fault | undefined
  let failing: object | undefined
  runtime.beforeCall = (call) => {
    left -= 1
    if (left !== 0) return
    failing = call
    if (planned === 'killed before') throw new Killed()
  }
  runtime.afterCall = (call) => {
    // A call is repeated after a lost response, and then it is another one.
    if (call !== failing || left !== 0) return
    left = -1
    throw planned === 'killed after' ? new Killed() : connectionError()
  }
  const service = await startDeliveries({
    settings: steadySettings,
    clock: runtime.clock,
    tableName: newMemoryTable(runtime.store),
    ofFunctions: runtime.table,
  })
  return {
    service,
    failAt(number, fault) {
      left = number
      planned = fault
    },
    happened: () => failing !== undefined,
  }
}

const faults: Fault[] = ['killed before', 'killed after', 'response lost at']

/** Runs a case with a fault at its first call of the table, at its second, and so on until it has no more. */
async function atEachCall(
  fault: Fault,
  play: (service: DeliveryService) => Promise<{ act: () => Promise<unknown>; check: () => Promise<void> }>,
): Promise<number> {
  for (let number = 1; ; number += 1) {
    const { service, failAt, happened } = await faultyDeliveries()
    const { act, check } = await play(service)
    failAt(number, fault)
    await act()
    if (!happened()) return number - 1
    await check()
    expect(service.deadLetters).toEqual([])
    for (const thrown of service.sweepFaults) expect(thrown).toBeInstanceOf(Killed)
  }
}

const ok = { status: 200, answer: '' }

function respondWith(service: DeliveryService, ...responses: SubscriberResponse[]): void {
  let calls = 0
  service.respond = () => responses[Math.min(calls++, responses.length - 1)] ?? ok
}

async function expectEnd(service: DeliveryService, end: object): Promise<void> {
  expect(await service.deliveries()).toMatchObject([end])
  expect(await service.waiting()).toEqual([])
  expect(service.queued()).toEqual([])
}

describe.each(faults)('a sender that is %s one of its calls of the table', (fault) => {
  test('ends a delivery that succeeds at once', async () => {
    const calls = await atEachCall(fault, async (service) => {
      await service.add()
      await service.publish()
      return {
        act: () => service.runFor(60),
        check: () => expectEnd(service, { state: 'succeeded', attempted: 1 }),
      }
    })
    expect(calls).toBeGreaterThanOrEqual(2)
  })

  test('ends a delivery that succeeds after two retries, one of them soon', async () => {
    const calls = await atEachCall(fault, async (service) => {
      await service.add()
      respondWith(service, { status: 500, answer: '' }, { status: 503, answer: '', retryAfter: '1800' }, ok)
      await service.publish()
      return {
        act: () => service.runFor(2 * 3600),
        check: async () => {
          const [delivery] = await service.deliveries()
          expect(delivery?.state).toBe('succeeded')
          expect(delivery?.attempted).toBe(delivery?.attempts.length)
          expect(await service.waiting()).toEqual([])
          expect(service.queued()).toEqual([])
        },
      }
    })
    expect(calls).toBeGreaterThanOrEqual(6)
  })

  test('disables a subscriber that answers 410, and holds its event', async () => {
    const calls = await atEachCall(fault, async (service) => {
      const subscriber: Subscriber = await service.add()
      respondWith(service, { status: 410, answer: '' })
      await service.publish()
      return {
        act: async () => {
          await service.run()
          // A sender that was killed before it disabled the subscriber suspended the event: the sweep sends it again.
          // A sweep may be killed as well.
          for (let sweeps = 0; sweeps < 2; sweeps += 1) {
            await service.sweep().catch(() => undefined)
            await service.run()
          }
        },
        check: async () => {
          expect((await service.subscriber(subscriber))?.state).toBe('disabled')
          expect(await service.audit()).toHaveLength(1)
          expect(await service.deliveries()).toMatchObject([{ state: 'suspended' }])
          expect(await service.waiting()).toHaveLength(1)
        },
      }
    })
    expect(calls).toBeGreaterThanOrEqual(4)
  })

  test('sends the suspended events of a resumed subscriber', async () => {
    const calls = await atEachCall(fault, async (service) => {
      const subscriber = await service.add({ state: 'paused' })
      await service.publish()
      await service.change(subscriber, { state: 'active' })
      return {
        act: () => service.runFor(180),
        check: () => expectEnd(service, { state: 'succeeded', attempted: 1 }),
      }
    })
    expect(calls).toBeGreaterThanOrEqual(4)
  })

  test('queues or holds an event once for each subscriber', async () => {
    const calls = await atEachCall(fault, async (service) => {
      const active = await service.add()
      const paused = await service.add({ id: active.id.replace(/^0/, '1'), state: 'paused' })
      return {
        act: async () => {
          // The queue repeats the message of a killed process.
          await service.publish({ event_id: 'e' }).catch(() => service.publish({ event_id: 'e' }))
          await service.run()
        },
        check: async () => {
          const states = (await service.deliveries()).map((one) => `${one.subscriber_id} ${one.state}`)
          expect(states.toSorted()).toEqual([`${active.id} succeeded`, `${paused.id} suspended`].toSorted())
          expect(await service.waiting()).toHaveLength(1)
        },
      }
    })
    expect(calls).toBeGreaterThanOrEqual(2)
  })
})
