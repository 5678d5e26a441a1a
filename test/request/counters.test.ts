import { beforeEach, describe, expect, test } from '@jest/globals'
import { systemClock } from '#shared/platform/base/clock.ts'
import { sourceOf } from '#shared/platform/identity/caller.ts'
import { type Counter, countIn, uncountRequest } from '#shared/platform/request/rate-limit.ts'
import { type Service, startService } from '../support/service.ts'

let service: Service
let now = Date.parse('2026-03-01T12:00:00Z')
let address: Counter
let source: Counter

const clock = { ...systemClock, now: () => now }
const count = (...counters: Counter[]) => countIn(counters, service.table, clock)
const refused = (seconds: number) => ({
  code: 'RATE_LIMIT.exceeded',
  headers: { 'Retry-After': String(seconds) },
})

beforeEach(async () => {
  service ??= await startService()
  address = { limit: 2, windowSeconds: 60, subject: [crypto.randomUUID()] }
  source = { limit: 3, windowSeconds: 300, subject: [crypto.randomUUID()] }
})

describe('several counters of one request', () => {
  test('reject it if one of them is full', async () => {
    for (let n = 0; n < 3; n += 1) await count({ ...address, subject: [crypto.randomUUID()] }, source)
    await expect(count(address, source)).rejects.toMatchObject(refused(300))
  })

  test('do not count a rejected request', async () => {
    await count(address, source)
    await count(address, source)
    await expect(count(address, source)).rejects.toMatchObject(refused(60))
    await expect(count(source)).resolves.toBe(now)
  })

  test('return the longest wait', async () => {
    await count(source)
    now += 1000
    await count(address, source)
    await count(address, source)
    await expect(count(address, source)).rejects.toMatchObject(refused(299))
  })

  test('admit no more concurrent requests than the limit', async () => {
    const burst = Array.from({ length: 10 }, () =>
      count({ ...address, subject: [crypto.randomUUID()] }, source),
    )
    const outcomes = await Promise.allSettled(burst)
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
  })
})

test('a removed request makes room for another', async () => {
  await count(address)
  const countedAt = await count(address)
  await uncountRequest(address.subject, countedAt, service.table)
  await expect(count(address)).resolves.toBe(now)
})

test('a request is removed once', async () => {
  const countedAt = await count(address)
  for (let n = 0; n < 3; n += 1) await uncountRequest(address.subject, countedAt, service.table)
  await count(address)
  await count(address)
  await expect(count(address)).rejects.toMatchObject(refused(60))
})

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2::9', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::ffff:192.0.2.1', '::ffff:192.0.2.1'],
  ['', ''],
])('the source of %s is %s', (sourceAddress, expected) => expect(sourceOf({ sourceAddress })).toBe(expected))
