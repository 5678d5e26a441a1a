import { beforeEach, describe, expect, test } from '@jest/globals'
import {
  asHealth,
  breaker,
  failingSince,
  hasNoSlot,
  healthKey,
  isSlow,
  recordCall,
  recordSlowness,
  type SubscriberHealth,
  slotsPerTenant,
  takeProbe,
} from '#shared/deliveries/subscriber-health.ts'
import { type MemoryRuntime, memoryRuntime } from '#test/support/memory-runtime.ts'

const ref = { tenant: 'acme', subscriber: 's1' }
const hour = 3_600_000
let runtime: MemoryRuntime
beforeEach(() => {
  runtime = memoryRuntime()
})

const now = () => runtime.clock.now()
const context = () => ({ table: runtime.table, settings: runtime.settings, now })
const healthOf = (known: Partial<SubscriberHealth>) => ({ ...healthKey(ref), ...known })
const store = (known: Partial<SubscriberHealth>) =>
  runtime.table.put({ item: { ...healthOf(known) }, condition: 'none' })
const stored = async () => asHealth(await runtime.table.get(healthKey(ref)))
/** The longest pause of the schedule and a day. */
const longestSilence = () =>
  24 * hour + Math.max(...runtime.settings['deliveries.schedule'].retriesAfterSeconds) * 1000

describe('a subscriber', () => {
  test.each([
    [1, true],
    [0, false],
  ])('that is slow until %i ms from now is slow: %s', (left, expected) => {
    expect(isSlow(healthOf({ slow_until: now() + left }), now())).toBe(expected)
  })

  test.each([
    ['is not recorded as slow again while at least half of the time is left', 90_001, undefined],
    ['is recorded as slow again after half of the time', 90_000, 180_000],
  ])('%s', async (_, left, recorded) => {
    await recordSlowness(ref, healthOf({ slow_until: now() + left }), context())
    expect((await stored())?.slow_until).toBe(recorded && now() + recorded)
  })

  test.each([
    [0, true],
    [1, false],
  ])('whose probe has a lease of %i ms more is probed: %s', async (left, expected) => {
    await store({ probe_until: now() + left })
    expect(await takeProbe(ref, context())).toBe(expected)
  })

  test('is probed for the time limit of a call and ten seconds', async () => {
    await takeProbe(ref, context())
    const seconds = runtime.settings['deliveries.timeoutSeconds'] + 10
    expect((await stored())?.probe_until).toBe(now() + seconds * 1000)
  })

  test.each([
    ['not recorded within an hour', hour - 1, false],
    ['recorded after an hour', hour, true],
  ])('that fails again is %s', async (_, silence, expected) => {
    const known = { failed_at: now() - silence }
    await store(known)
    await recordCall(ref, 'failure', healthOf(known), context())
    expect((await stored())?.failed_at === now()).toBe(expected)
  })

  test.each([
    ['goes on after the longest pause', 0, 7],
    ['is interrupted by a longer one', 1, 0],
  ])('that fails %s', async (_, more, expected) => {
    const known = { failed_at: now() - longestSilence() - more, failing_since: 7 }
    await store(known)
    await recordCall(ref, 'failure', healthOf(known), context())
    expect((await stored())?.failing_since).toBe(expected)
  })

  test.each([
    [0, 7],
    [1, undefined],
  ])('that failed the longest pause and %i ms ago fails since %s', (more, expected) => {
    const known = { failed_at: now() - longestSilence() - more, failing_since: 7 }
    expect(failingSince(healthOf(known), now(), runtime.settings)).toBe(expected)
  })

  test('whose first failures come together keeps the first one', async () => {
    const first = now()
    await recordCall(ref, 'failure', undefined, context())
    runtime.clock.advance(hour)
    await recordCall(ref, 'failure', undefined, context())
    expect((await stored())?.failed_at).toBe(first)
  })

  test('pauses once if more calls time out together than the limit', async () => {
    const { timeouts, pauseSeconds } = breaker
    for (let call = 0; call < timeouts + 2; call += 1) await recordCall(ref, 'timeout', undefined, context())
    expect((await stored())?.pause_seconds).toBe(pauseSeconds)
  })
})

describe('the slots of a tenant', () => {
  const slots = (until: number) => {
    const all = slotsPerTenant(runtime.settings)
    const names = Array.from({ length: all }, (_, number) => [`slot_${number}`, until])
    return { ...healthKey(ref), ...Object.fromEntries(names) }
  }

  test.each([
    [1, true],
    [0, false],
  ])('whose leases end in %i ms are all taken: %s', (left, expected) => {
    expect(hasNoSlot(slots(now() + left), now(), runtime.settings)).toBe(expected)
  })

  test('are free if none was ever taken', () => {
    expect(hasNoSlot(undefined, now(), runtime.settings)).toBe(false)
  })
})
