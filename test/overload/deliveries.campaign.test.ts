import { randomInt } from 'node:crypto'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { localSettings } from '#test/support/settings.ts'
import { type DeliveryOutcome, playDeliveries } from './deliveries.ts'
import { deliveryScenarios } from './delivery-rows.ts'

const scenarios = deliveryScenarios(localSettings)
type Name = keyof typeof scenarios
const drawn = randomInt(1e9)

/** Plays a scenario once. */
const played = new Map<string, Promise<DeliveryOutcome>>()
function play(name: Name, seed: number, withoutGroups = false): Promise<DeliveryOutcome> {
  const key = `${name} ${seed} ${withoutGroups}`
  const outcome = played.get(key) ?? playDeliveries({ ...scenarios[name], seed, withoutGroups })
  played.set(key, outcome)
  return outcome
}

describe.each([
  ['seed 1', 1],
  [`the drawn seed ${drawn}`, drawn],
])('one tenant with %s', (_, seed) => {
  describe.each((Object.keys(scenarios) as Name[]).filter((name) => name !== 'quiet'))('and %s', (name) => {
    let outcome: DeliveryOutcome
    beforeAll(async () => {
      outcome = await play(name, seed)
    })

    test('delays 95 % of the events of others by less than a second', () => {
      expect(outcome.othersP95AtFirst).toBeLessThanOrEqual(1000)
      expect(outcome.othersP95).toBeLessThanOrEqual(1000)
    })

    test('leaves all events of others accepted', () => {
      expect(outcome.othersAccepted).toBe(1)
    })
  })

  test.each([
    ['1,000 a second, 0.1 s', 930],
    ['2,000 a second, 0.1 s', 1860],
    // So few events vary more: four standard deviations below the mean of 292.
    ['300 a second, 0.25 s', 270],
  ] as const)('gets %s, 95 %% of them within a second, with one call each', async (name, least) => {
    const { acceptedASecond, ownP95, accepted, calls } = await play(name, seed)
    expect(acceptedASecond).toBeGreaterThanOrEqual(least)
    expect(ownP95).toBeLessThanOrEqual(1000)
    expect(calls).toBe(accepted)
  })

  test('gets 10,000 events at once within five seconds', async () => {
    const { accepted, calls, lastAccepted } = await play('10,000 at once, 0.1 s', seed)
    expect([accepted, calls]).toEqual([10_000, 10_000])
    expect(lastAccepted).toBeLessThanOrEqual(5000)
  })

  test('gets 200 events at a subscriber that takes 0.3 s within five seconds', async () => {
    const { accepted, lastAccepted } = await play('200 at once, 0.3 s', seed)
    expect(accepted).toBe(200)
    expect(lastAccepted).toBeLessThanOrEqual(5000)
  })

  test('has a subscriber that hangs called a few times only', async () => {
    expect((await play('10,000 at once, hanging', seed)).calls).toBeLessThan(200)
  })
})

test('without message groups, calls of 0.45 s would delay the events of others', async () => {
  expect((await play('10,000 at once, 0.45 s', 1, true)).othersP95AtFirst).toBeGreaterThan(2000)
})
