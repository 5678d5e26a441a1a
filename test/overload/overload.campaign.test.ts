import { beforeAll, describe, expect, test } from '@jest/globals'
import { reservedConcurrency, stageNamed } from '#lib/stage.ts'
import { localSettings } from '#test/support/settings.ts'
import { type Outcome, play, type Scenario, share } from './scenario.ts'
import { playSearches } from './searches.ts'

const reserved = reservedConcurrency(stageNamed('prod'), localSettings) ?? {}
const quiet: Scenario = {
  ...{ seed: 1, scale: 0.02, slots: 1000, reserved },
  ...{ usual: share, peak: share, peakSeconds: 15, afterSeconds: 5 },
}

describe('below its capacity the service', () => {
  test('answers every call of other tenants', async () => {
    expect((await play(quiet)).othersSucceeded).toBe(1)
  })

  test('makes one call of the table for each order', async () => {
    expect((await play({ ...quiet, peak: 0.5 })).callsPerSuccess).toBeLessThan(1.1)
  })
})

describe('beyond the capacity of a partition', () => {
  const overload = { ...quiet, usual: 0.5, peakSeconds: 30, afterSeconds: 25 }
  let played: Record<'quiet' | 'one' | 'two' | 'four', Outcome>
  beforeAll(async () => {
    played = {
      quiet: await play(quiet),
      one: await play({ ...overload, peak: 1 }),
      two: await play({ ...overload, peak: 2 }),
      four: await play({ ...overload, peak: 4 }),
    }
  })

  test('goodput at four times the capacity is at least 0.9 of the peak', () => {
    const peak = Math.max(played.one.goodput, played.two.goodput, 1)
    expect(played.four.goodput).toBeGreaterThanOrEqual(0.9 * peak)
  })

  test('an order costs at most 3 calls of the table at twice the capacity', () => {
    expect(played.two.callsPerSuccess).toBeLessThanOrEqual(3)
  })

  test('the p95 of other tenants is at most 1.1 of its quiet value', () => {
    expect(played.four.othersP95).toBeLessThanOrEqual(1.1 * played.quiet.othersP95)
  })

  test('every call of other tenants succeeds', () => {
    expect(played.four.othersSucceeded).toBe(1)
  })

  test('calls succeed at once again within 15 s', () => {
    expect(played.four.recoverySeconds).toBeLessThanOrEqual(15)
  })

  test('with twelve attempts, no shedding and a constant Retry-After, calls of other tenants would fail', async () => {
    const outcome = await play({ ...overload, peak: 4, unlimited: true })
    expect(outcome.othersSucceeded).toBeLessThan(0.9)
  })
})

test('a caller who searches all the time leaves reads and lists to the others of its tenant', async () => {
  const { reads, lists } = await playSearches({ seed: 1, searches: 100, seconds: 30 })
  expect(reads).toBeGreaterThanOrEqual(0.95)
  expect(lists).toBeGreaterThanOrEqual(0.95)
})

describe('while the payment provider hangs', () => {
  const hanging = { ...quiet, hangingRefunds: 77 }

  test('refunds take the slots that are reserved for them, and no others', async () => {
    const { slots, othersSucceeded } = await play(hanging)
    expect(slots).toBeLessThan(0.3 * hanging.slots)
    expect(othersSucceeded).toBe(1)
  })

  test('refunds without reserved concurrency would take all slots of the account', async () => {
    expect((await play({ ...hanging, reserved: {} })).slots).toBeGreaterThan(0.9 * hanging.slots)
  })
})
