import { beforeAll, describe, expect, test } from '@jest/globals'
import { type DeliveryOutcome, type DeliveryScenario, playDeliveries } from './deliveries.ts'

const functions = { creators: 20, senders: 50 }
const quiet: DeliveryScenario = { seed: 1, ...functions, seconds: 70, burst: 0, burstMilliseconds: 0 }
const burst = 10_000
const hanging: DeliveryScenario = { ...quiet, burst, burstMilliseconds: Number.POSITIVE_INFINITY }

describe('10,000 events of one tenant, on a queue that shares nothing fairly,', () => {
  let played: Record<'quiet' | 'hanging' | 'slow' | 'flood', DeliveryOutcome>
  beforeAll(async () => {
    played = {
      quiet: await playDeliveries(quiet),
      hanging: await playDeliveries(hanging),
      slow: await playDeliveries({ ...quiet, burst, burstSubscribers: 16, burstMilliseconds: 5000 }),
      flood: await playDeliveries({ ...quiet, burst, burstMilliseconds: 100 }),
    }
  })

  describe.each([
    ['its subscriber hangs', 'hanging'],
    ['its 16 subscribers respond after 5 s', 'slow'],
    ['its subscriber is well', 'flood'],
  ] as const)('if %s,', (_, name) => {
    test('move the p95 of others in the first 20 s by at most a tenth', () => {
      expect(played[name].othersP95AtFirst).toBeLessThanOrEqual(1.1 * played.quiet.othersP95AtFirst)
    })

    test('move the p95 of others in a minute by at most a tenth', () => {
      expect(played[name].othersP95).toBeLessThanOrEqual(1.1 * played.quiet.othersP95)
    })

    test('leave all events of others accepted', () => {
      expect(played[name].othersAccepted).toBe(1)
    })
  })

  test('call a subscriber that hangs a few times only', () => {
    expect(played.hanging.calls).toBeLessThan(burst / 50)
  })

  test('all reach a subscriber that is well, with one call each', () => {
    expect([played.flood.accepted, played.flood.calls]).toEqual([burst, burst])
  })

  test('would stop all deliveries without slots, breaker and pauses', async () => {
    const { othersP95 } = await playDeliveries({ ...hanging, unlimited: true })
    expect(othersP95).toBeGreaterThan(10 * played.quiet.othersP95)
  })
})

test('200 events of one tenant reach a subscriber that takes 0.3 s within 40 seconds', async () => {
  const { accepted, lastAccepted } = await playDeliveries({ ...quiet, burst: 200, burstMilliseconds: 300 })
  expect([accepted, lastAccepted < 40_000]).toEqual([200, true])
})
