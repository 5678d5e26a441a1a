import { beforeEach, describe, expect, test } from '@jest/globals'
import { sweepDeliveries } from '#shared/deliveries/sweep-deliveries.ts'
import {
  readSubscribedTenants,
  type SubscriberCheck,
  subscribedMilliseconds,
  subscriberCheck,
} from '#shared/subscribers/subscribed-tenants.ts'
import { createSubscriber, deleteSubscriber, type Subscriber } from '#shared/subscribers/subscriber.ts'
import { type MemoryRuntime, memoryRuntime } from '#test/support/memory-runtime.ts'
import { subscriberOf } from './subscribers.ts'

let runtime: MemoryRuntime
let readSubscribers: () => Promise<SubscriberCheck>
beforeEach(() => {
  runtime = memoryRuntime()
  const read = subscriberCheck(runtime.clock)
  readSubscribers = () => read(runtime.table)
})

async function register(tenant: string, id: string): Promise<Subscriber> {
  const subscriber = subscriberOf({ tenant_id: tenant, id })
  await runtime.table.transact(createSubscriber(subscriber))
  return subscriber
}

async function sweep(): Promise<void> {
  await sweepDeliveries({ ...runtime, isBlocked: async () => false }, async () => [])
}

const marked = async () => {
  const mayHave = await readSubscribers()
  return ['acme', 'rival'].filter(mayHave)
}

describe('a relay', () => {
  test('knows after the sweep which tenants have subscribers', async () => {
    await register('acme', 's1')
    await sweep()
    expect(await marked()).toEqual(['acme'])
  })

  test('takes any tenant for one that has some while the list is not known', async () => {
    expect(await marked()).toEqual(['acme', 'rival'])
  })

  test('takes any tenant for one that has some while it cannot read the list, and reads it again', async () => {
    await sweep()
    runtime.beforeCall = () => {
      throw new Error('throttled')
    }
    expect(await marked()).toEqual(['acme', 'rival'])
    runtime.beforeCall = () => {}
    expect(await marked()).toEqual([])
  })

  test('takes any tenant for one that has some if too many have', async () => {
    for (let n = 0; n < 2001; n += 1) await register(`tenant-${n}`, `s${n}`)
    await sweep()
    expect(await marked()).toEqual(['acme', 'rival'])
  })

  test('reads the list once for many events', async () => {
    let reads = 0
    runtime.beforeCall = () => {
      reads += 1
    }
    for (let n = 0; n < 10; n += 1) await readSubscribers()
    expect(reads).toBe(1)
  })

  test('uses no list from a time to which its clock has not come again', async () => {
    await sweep()
    await readSubscribers()
    await register('acme', 's1')
    runtime.clock.advance(-60_000)
    expect(await marked()).toContain('acme')
  })

  test('uses no list that is older than what a registration waits', async () => {
    await sweep()
    await readSubscribers()
    await register('acme', 's1')
    runtime.clock.advance(subscribedMilliseconds - 1)
    expect(await marked()).toContain('acme')
  })
})

describe('the list', () => {
  test('has no tenant whose subscribers were deleted', async () => {
    const subscriber = await register('acme', 's1')
    await register('rival', 's2')
    await sweep()
    await runtime.table.transact(deleteSubscriber(subscriber))
    await sweep()
    expect((await readSubscribedTenants(runtime.table)).tenants).toEqual(['rival'])
  })

  test('leaves out no subscriber that is registered while the sweep makes it', async () => {
    await register('rival', 's1')
    let isFirst = true
    runtime.beforeCall = async ({ name }) => {
      if (name !== 'put' || !isFirst) return
      isFirst = false
      await register('acme', 's2')
    }
    await sweep()
    expect(await marked()).toContain('acme')
  })

  test('is not written again while it stays the same', async () => {
    await register('acme', 's1')
    await sweep()
    const { version } = await readSubscribedTenants(runtime.table)
    await sweep()
    expect((await readSubscribedTenants(runtime.table)).version).toBe(version)
  })

  test('lets the sweep of a stage without subscribers read nothing else', async () => {
    await sweep()
    let calls = 0
    runtime.beforeCall = () => {
      calls += 1
    }
    await sweep()
    expect(calls).toBe(1)
  })
})
