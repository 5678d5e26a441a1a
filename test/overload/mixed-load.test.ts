import { expect, test } from '@jest/globals'
import { playMixed } from './mixed-load.ts'

/** Requests a second of the mix that one shard takes: 500 orders are a quarter of them. */
const requestsOfShard = 2000

test.each([1, 4, 16])(
  'the mixed load of a tenant grows with its shards, within 10 %%: %i',
  async (shards) => {
    const load = { seed: 1, scale: 0.06 / shards, shards, load: 1.25 }
    const { requestsASecond, othersSucceeded } = await playMixed(load)
    const ratio = requestsASecond / (requestsOfShard * shards)
    expect(ratio).toBeGreaterThan(0.9)
    expect(ratio).toBeLessThan(1.1)
    // Orders that are throttled fail; reads and lists go on.
    expect(othersSucceeded).toBeGreaterThan(0.98)
  },
)
