import { expect, test } from '@jest/globals'
import { isUuidV7, newId, systemClock } from '#shared/platform/base/clock.ts'

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

test('an id is a UUID of version 7 with the time of the clock', () => {
  const clock = {
    ...systemClock,
    now: () => 0x0123_4567_89ab,
    randomBytes: () => new Uint8Array(10).fill(0xff),
  }
  expect(newId(clock)).toBe('01234567-89ab-7fff-bfff-ffffffffffff')
  expect(isUuidV7(newId(clock))).toBe(true)
})
