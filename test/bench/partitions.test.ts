import { beforeAll, describe, expect, test } from '@jest/globals'
import { ceilingOf, type PartitionLoad, partitionLoads, withPartitions } from './partitions.ts'

const loadOf = (partition: string, units: number, kind: 'read' | 'write' = 'write'): PartitionLoad => {
  return { partition, kind, request: 'a request', units }
}

describe('the ceiling of a kind of partition', () => {
  test('falls with the units of a request', () => {
    expect(ceilingOf(loadOf('order', 4))).toBe(Number(ceilingOf(loadOf('order', 2))) / 2)
  })

  test('grows with the number of partitions', () => {
    expect(ceilingOf(loadOf('order', 1))).toBe(16 * Number(ceilingOf(loadOf('subscriber', 1))))
  })

  test.each(['pending-saga', 'pending-operation', 'registered-subscriber', 'session'])(
    'is above that of one partition for %s, which all tenants share',
    (partition) => {
      expect(ceilingOf(loadOf(partition, 1))).toBeGreaterThan(1000)
    },
  )

  test.each(['idempotency', 'rate', 'otp', 'subscriber_health', 'waiting_delivery'])(
    'does not exist for partitions of one name: %s',
    (partition) => {
      expect(ceilingOf(loadOf(partition, 1))).toBeUndefined()
    },
  )
})

describe('the most expensive requests', () => {
  let loads: PartitionLoad[]
  beforeAll(async () => {
    loads = await partitionLoads()
  })

  test('have one row for each kind of partition and of unit', () => {
    const kinds = loads.map(({ partition, kind }) => `${partition} ${kind}`)
    expect(new Set(kinds).size).toBe(kinds.length)
    expect(kinds).toEqual(
      expect.arrayContaining([
        'order write',
        'order read',
        'pending-saga write',
        'session read',
        'rate write',
      ]),
    )
  })

  test('use units', () => {
    expect(loads.filter(({ units }) => !(units > 0))).toEqual([])
  })
})

test('the table of a page is replaced, and nothing else of it', () => {
  const page = withPartitions('a\n<!-- partitions -->\nold\n<!-- /partitions -->\nb', [
    loadOf('pending-saga', 4),
  ])
  expect(page).toMatch(
    /^a\n<!-- partitions -->\n\|[\s\S]*\| `pending-saga` \|[\s\S]*\n<!-- \/partitions -->\nb$/,
  )
  expect(page).not.toContain('old')
})

test('the table of a page leaves out partitions of names, and those that together take more than the table', () => {
  const page = withPartitions('<!-- partitions -->\n<!-- /partitions -->', [
    loadOf('session', 2, 'read'),
    loadOf('rate', 2),
    loadOf('subscriber', 2),
  ])
  expect(page).toContain('| `subscriber` | 1 | a request | 2 write | 500 |')
  expect(page).not.toMatch(/session|rate/)
})
