import { beforeAll, describe, expect, test } from '@jest/globals'
import { stageNamed } from '#lib/stage.ts'
import { MemoryStore } from '#test/simulation/memory-store.ts'
import { Capacity, partitionUnits } from './capacity.ts'
import { type Outcome, play, type Scenario, share } from './scenario.ts'

const reserved = stageNamed('prod').concurrency ?? {}
const quiet: Scenario = {
  ...{ seed: 1, scale: 0.02, slots: 1000, reserved },
  ...{ usual: share, peak: share, peakSeconds: 15, afterSeconds: 5 },
}

describe('a partition', () => {
  const scale = 0.02
  const admitted = (items: number, seconds: number, credit = 0) => {
    let now = 0
    const store = new MemoryStore({ now: () => now })
    const capacity = new Capacity({ now: () => now, scale, credit })
    let count = 0
    for (let n = 0; n < items; n += 1) {
      now = (n / items) * seconds * 1000
      const item = { pk: 'order#t#0', sk: String(n) }
      const changes = [{ item, condition: 'none' as const }]
      const effect = () => store.transact(changes, String(n))
      try {
        capacity.run({ name: 'transact', changes, input: changes, milliseconds: 1000, effect })
        count += 1
      } catch {}
    }
    return count
  }

  test('admits transactions at half of its write units, after those of its first second', () => {
    expect(admitted(4000, 10)).toBeCloseTo((partitionUnits.write / 2) * scale * 11, -1)
  })

  test('keeps unused units for five minutes', () => {
    expect(admitted(8000, 10, 300)).toBeCloseTo((partitionUnits.write / 2) * scale * 310, -1)
  })
})

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
