import { describe, expect, test } from '@jest/globals'
import {
  type Clock,
  derivedId,
  firstIdAt,
  isId,
  lastIdAt,
  newId,
  systemClock,
  timeOf,
} from '#shared/platform/base/clock.ts'

test('random bytes do not repeat when the pool is filled again', () => {
  const drawn = Array.from({ length: 5000 }, () => Buffer.from(systemClock.randomBytes(10)).toString('hex'))
  expect(new Set(drawn).size).toBe(5000)
})

test('random bytes are a copy: changing them leaves the next ones alone', () => {
  const first = systemClock.randomBytes(16)
  const before = Buffer.from(first).toString('hex')
  first.fill(0)
  const next = Buffer.from(systemClock.randomBytes(16)).toString('hex')
  expect(next).not.toBe(before)
  expect(next).not.toBe('0'.repeat(32))
})

test('more random bytes than the pool holds are drawn at once', () => {
  const many = systemClock.randomBytes(10_000)
  expect(many).toHaveLength(10_000)
  expect(new Set(many).size).toBe(256)
})

describe('an id', () => {
  const at = 0x0123_4567_89ab
  /** A clock that stands still. Its random bytes make the largest start of the counter. */
  const standing = (now = at): Clock => ({
    ...systemClock,
    now: () => now,
    randomBytes: (length) => new Uint8Array(length).fill(0xff),
  })
  const drawn = (clock: Clock, count: number) => Array.from({ length: count }, () => newId(clock))

  test('is a UUID of version 8: milliseconds, counter, random bits and the byte of the shard', () => {
    expect(newId(standing())).toBe('01234567-89ab-87ff-bfff-ffffffffff00')
  })

  test('is recognized', () => {
    expect(isId(newId(systemClock))).toBe(true)
  })

  test('is between the bounds of its millisecond', () => {
    const id = newId(standing())
    expect([lastIdAt(at), id, firstIdAt(at)].sort()).toEqual([firstIdAt(at), id, lastIdAt(at)])
  })

  test('starts its counter at a random value in each millisecond', () => {
    const starts = [0, 1].map((byte) => {
      const randomBytes = (length: number) => new Uint8Array(length).fill(byte)
      return newId({ ...systemClock, now: () => at, randomBytes }).slice(15, 18)
    })
    expect(starts).toEqual(['000', '101'])
  })

  test('starts its counter in the lower half, so 2,048 more ids fit into the millisecond', () => {
    const ids = drawn(standing(), 2049)
    expect(new Set(ids.map(timeOf))).toEqual(new Set([at]))
  })

  test.each([
    ['in one millisecond', [at]],
    ['while the clock goes back', [at, at - 5000, at - 1, at - 90_000]],
    ['while the clock counts parts of milliseconds', [at, at + 0.4, at + 0.7]],
  ])('is above all earlier ones %s', (_, times) => {
    let calls = 0
    const now = () => times[Math.min(calls++, times.length - 1)] ?? at
    const ids = drawn({ ...systemClock, now }, 10_000)
    expect(ids).toEqual(ids.toSorted())
  })

  test('takes the next millisecond when the counter overflows', () => {
    const ids = drawn(standing(), 2050)
    expect(timeOf(ids.at(-1) ?? '')).toBe(at + 1)
  })

  test('has the time of the clock once that is ahead again', () => {
    let now = at
    const clock = { ...systemClock, now: () => now }
    drawn(clock, 10_000)
    now = at + 60_000
    expect(timeOf(newId(clock))).toBe(now)
  })

  test('of a clock is independent of the ids of other clocks', () => {
    newId(standing(at + 60_000))
    expect(timeOf(newId(standing()))).toBe(at)
  })

  test('that is derived from a name is a UUID of version 8, too', () => {
    expect(derivedId('order|0')).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    )
  })
})
