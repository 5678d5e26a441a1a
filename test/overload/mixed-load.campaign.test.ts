import { beforeAll, describe, expect, test } from '@jest/globals'
import { type MixedOutcome, playMixed } from './mixed-load.ts'

/** Requests a second of the mix that one shard takes: 500 orders are a quarter of them. */
const requestsOfShard = 2000

describe.each([1, 4, 16])('more mixed requests of a tenant than its shards take: %i', (shards) => {
  let played: MixedOutcome
  beforeAll(async () => {
    played = await playMixed({ seed: 1, scale: 0.16 / shards, shards, load: 1.25 })
  })

  test('succeed in proportion to the shards, within 10 %', () => {
    const ratio = played.requestsASecond / (requestsOfShard * shards)
    expect(Math.abs(ratio - 1)).toBeLessThan(0.1)
  })

  test('throttle orders, and no reads and lists', () => {
    expect(played.othersSucceeded).toBeGreaterThan(0.98)
  })
})
