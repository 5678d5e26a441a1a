import { beforeAll, describe, expect, test } from '@jest/globals'
import { type DeliveryOutcome, type DeliveryScenario, playDeliveries } from './deliveries.ts'

const quiet: DeliveryScenario = { seed: 1, senders: 50, seconds: 70, burst: 0, burstMilliseconds: 0 }
const burst = 10_000
const hanging: DeliveryScenario = { ...quiet, burst, burstMilliseconds: Number.POSITIVE_INFINITY }

describe('10,000 events of one tenant, on a queue that shares nothing fairly,', () => {
  let played: Record<'quiet' | 'hanging' | 'flood', DeliveryOutcome>
  beforeAll(async () => {
    played = {
      quiet: await playDeliveries(quiet),
      hanging: await playDeliveries(hanging),
      flood: await playDeliveries({ ...quiet, burst, burstMilliseconds: 100 }),
    }
  })

  test('move the p95 of others by at most a tenth if its subscriber hangs', () => {
    expect(played.hanging.othersP95).toBeLessThanOrEqual(1.1 * played.quiet.othersP95)
    expect(played.hanging.othersAccepted).toBe(1)
  })

  test('call a subscriber that hangs a few times only', () => {
    expect(played.hanging.calls).toBeLessThan(burst / 50)
  })

  test('move the p95 of others by at most a tenth if its subscriber is well', () => {
    expect(played.flood.othersP95).toBeLessThanOrEqual(1.1 * played.quiet.othersP95)
    expect(played.flood.othersAccepted).toBe(1)
  })

  test('all reach a subscriber that is well, with one call each', () => {
    expect([played.flood.accepted, played.flood.calls]).toEqual([burst, burst])
  })

  test('would stop all deliveries without cap and breaker', async () => {
    const { othersP95 } = await playDeliveries({ ...hanging, unlimited: true })
    expect(othersP95).toBeGreaterThan(10 * played.quiet.othersP95)
  })
})
