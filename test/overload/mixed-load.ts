import { partitionUnits } from '#test/simulation/partition-capacity.ts'
import { Random } from '#test/simulation/random.ts'
import { Scheduler } from '#test/simulation/scheduler.ts'
import { profile } from '#test/support/settings.ts'
import { Clients } from './clients.ts'
import { Functions } from './functions.ts'
import { type Operation, OverloadedService } from './service.ts'

/** Of a thousand requests of a tenant, those of each operation. */
const mix = {
  'orders.create': 250,
  'orders.read': 500,
  'orders.list': 30,
  'codes.read': 215,
  'codes.create': 5,
} as const
const requestsOfMix = Object.values(mix).reduce((sum, count) => sum + count, 0)
/** An order takes two units of a shard, as it is written in a transaction. */
const ordersOfShard = partitionUnits.write / 2
const seconds = 20
/** The units of the first second are used up, and calls of the first seconds have ended. */
const steadySeconds = 14
const epoch = Date.UTC(2026, 2, 1)
const tenant = 'acme'

interface MixedLoad {
  seed: number
  /** All capacities and rates as a part of the real ones. */
  scale: number
  shards: number
  /** The orders that are sent, as a part of what the shards take. */
  load: number
}

export interface MixedOutcome {
  /** Requests of the mix a second, as many as the orders that succeeded allow. */
  requestsASecond: number
  /** The part of the other requests that succeeded. */
  othersSucceeded: number
}

/** Sends the mix of one tenant to a table that throttles. Slots of functions are no limit. */
export async function playMixed({ seed, scale, shards, load }: MixedLoad): Promise<MixedOutcome> {
  const settings = profile('shared/settings/profiles/local.json', {
    'storage.shards': { default: { writes: shards, reads: shards }, tenants: {} },
  })
  const random = new Random(seed)
  const scheduler = new Scheduler(epoch, false)
  const functions = new Functions({
    ...{ scheduler, random: random.fork('functions') },
    ...{ slots: Number.POSITIVE_INFINITY, reserved: {}, scale },
  })
  const service = new OverloadedService({
    ...{ scheduler, random: random.fork('service'), functions, settings, scale },
    ...{ credit: 0, unlimited: false, providerHangs: () => false },
  })
  const clients = new Clients({ scheduler, random: random.fork('clients'), service, settings })
  const rate = (load * ordersOfShard * shards * scale * requestsOfMix) / mix['orders.create']
  void clients.arrive(
    tenant,
    (one) => one.weighted<Operation>(mix),
    (at) => (at < seconds ? rate : undefined),
  )
  await scheduler.runUntil(scheduler.sleep((seconds + 11) * 1000))

  const from = (seconds - steadySeconds) * 1000
  const orders = clients.calls.filter(
    ({ operation, succeeded, endedAt }) =>
      operation === 'orders.create' && succeeded && endedAt >= from && endedAt < seconds * 1000,
  )
  const others = clients.calls.filter(({ operation }) => operation !== 'orders.create')
  return {
    requestsASecond: ((orders.length / steadySeconds) * requestsOfMix) / mix['orders.create'] / scale,
    othersSucceeded: others.filter(({ succeeded }) => succeeded).length / others.length,
  }
}
