import { beforeEach, describe, expect, test } from '@jest/globals'
import { healthKey, slotsPerTenant } from '#shared/deliveries/subscriber-health.ts'
import { logSweep, type SweptDeliveries } from '#shared/deliveries/sweep-deliveries.ts'
import { subscribedTenantsKey } from '#shared/subscribers/subscribed-tenants.ts'
import { type DeliveryService, startDeliveries, steadySettings, subscriberId } from './delivery-service.ts'

const minute = 60_000
let service: DeliveryService
beforeEach(async () => {
  service = await startDeliveries({ inMemory: true })
})

/** Adds subscribers, each with deliveries that are due in the table, the oldest first. */
async function addWaiting(subscribers: number, deliveries = 1) {
  const all = []
  for (let n = 1; n <= subscribers; n += 1)
    all.push(await service.add({ id: subscriberId(n), events: [`part.${n}`], state: 'paused' }))
  for (let n = 0; n < deliveries; n += 1) {
    for (let one = 1; one <= subscribers; one += 1) {
      await service.publish({ type: `part.${one}` })
      service.clock.advance(1000)
    }
  }
  const active = []
  for (const one of all) active.push(await service.change(one, { state: 'active' }))
  return active
}

const setHealth = (subscriber: { id: string }, health: object) =>
  service.table.put({
    item: { ...healthKey({ tenant: 'acme', subscriber: subscriber.id }), ...health },
    condition: 'none',
  })

describe('a run of the sweep', () => {
  test('reads only the entries of a subscriber without a due delivery', async () => {
    await service.add()
    service.table.getMany = async () => {
      throw new Error('nothing is due')
    }
    expect(await service.sweep()).toEqual({ queued: 0, failed: 0, left: 0 })
  })

  test.each([
    ['none while its breaker is open', { open_until: minute }, 0],
    ['one after the pause of its breaker', { open_until: -1 }, 1],
    ['all if it is slow and its slots take them', { slow_until: minute }, 2],
    ['all if it is well', {}, 2],
  ])('queues of a subscriber %s', async (_, health, queued) => {
    const [subscriber] = await addWaiting(1, 2)
    const from = service.clock.now()
    const times = Object.entries(health).map(([name, left]) => [name, from + left])
    if (subscriber) await setHealth(subscriber, Object.fromEntries(times))
    expect(await service.sweep()).toEqual({ queued, failed: 0, left: 0 })
  })

  test('queues of slow subscribers what their slots take in a minute, if all calls take their whole time', async () => {
    const all = await addWaiting(2, 150)
    for (const one of all) await setHealth(one, { slow_until: service.clock.now() + minute })
    const calls = (10 * 60) / steadySettings['deliveries.timeoutSeconds']
    expect(await service.sweep()).toMatchObject({ queued: slotsPerTenant(steadySettings) * calls })
  })

  test.each(['get', 'put'] as const)(
    'queues deliveries although the %s of the list of tenants fails, and reports that',
    async (name) => {
      await addWaiting(2)
      const fault = new Error('throttled')
      const call = service.table[name].bind(service.table) as (of: object) => Promise<never>
      service.table[name] = async (of: object) => {
        const key = 'item' in of ? of.item : of
        if ((key as { pk: string }).pk === subscribedTenantsKey.pk) throw fault
        return call(of)
      }
      expect(await service.sweep()).toEqual({ queued: 2, failed: 1, left: 0, fault })
    },
  )

  test('that reaches half of the subscribers in its time expects to need two runs for all', async () => {
    await addWaiting(4)
    service.beforeSend = () => service.clock.advance(10_000)
    const startedAt = service.clock.now()
    expect(await service.sweep()).toMatchObject({ queued: 2, left: 2, oldest: startedAt - 2 * minute })
  })

  test('names the oldest of the deliveries that it could not queue', async () => {
    const startedAt = service.clock.now()
    await addWaiting(3)
    service.beforeSend = () => {
      throw new Error('the queue does not respond')
    }
    expect(await service.sweep()).toMatchObject({ queued: 0, failed: 3, oldest: startedAt })
  })
})

describe('the log of a run', () => {
  const nothing: SweptDeliveries = { queued: 0, failed: 0, left: 0 }
  const logged = (result: SweptDeliveries) => {
    const lines: unknown[] = []
    const log = {
      job: ({ code, done, failed }: { code: string; done: number; failed: number }) =>
        lines.push([code, done, failed]),
      pending: (work: string, seconds: number) => lines.push([work, seconds]),
    }
    logSweep(result, { log: log as never, clock: service.clock })
    return lines
  }

  test.each<[string, Partial<SweptDeliveries>, unknown[]]>([
    ['without a delivery has no line', {}, []],
    ['that queued some', { queued: 2 }, [['DELIVERIES_QUEUED', 2, 0]]],
    ['with a fault', { queued: 1, failed: 1 }, [['DELIVERIES_LEFT', 1, 1]]],
    ['that left some', { left: 1 }, [['DELIVERIES_LEFT', 0, 0]]],
  ])('%s', (_, result, lines) => {
    expect(logged({ ...nothing, ...result })).toEqual(lines)
  })

  test('names the age of the oldest delivery', () => {
    expect(logged({ ...nothing, oldest: service.clock.now() - minute })).toEqual([['deliveries', 60]])
  })
})
