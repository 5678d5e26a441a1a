import { beforeAll, describe, expect, test } from '@jest/globals'
import { ceilingOf, type PartitionLoad, partitionLoads, withPartitions } from './partitions.ts'

let loads: PartitionLoad[]
beforeAll(async () => {
  loads = await partitionLoads()
})

const loadOf = (partition: string, kind: 'read' | 'write') =>
  loads.find((one) => one.partition === partition && one.kind === kind) as PartitionLoad

describe('the partitions of a tenant with 16 shards', () => {
  test.each([
    ['order', 'write', 'create an order', 2, 8000],
    ['pending-saga', 'write', 'refund a charge', 4, 8000],
    ['unfinished-operation', 'write', 'import a customer', 4, 8000],
    ['session', 'write', 'verify a one-time code', 2, 32_000],
    ['session', 'read', 'verify a discount with a session', 1, 192_000],
    ['login', 'write', 'log in', 2, 32_000],
    ['audit', 'write', 'refund a charge', 4, 16_000],
    ['password_reset', 'write', 'reset a password', 4, 16_000],
    ['verification', 'write', 'verify an unknown code', 2, 32_000],
    ['delivery', 'write', 'fail again, with a retry that waits in the table', 2, 32_000],
    ['api_key', 'read', 'read an order with an API key', 1, 48_000],
  ] as const)(
    'named %s take the %ss of at least 5,000 requests a second',
    (partition, kind, request, units, ceiling) => {
      expect(loadOf(partition, kind)).toEqual({ partition, kind, request, units })
      expect(ceilingOf(loadOf(partition, kind))).toBe(ceiling)
    },
  )

  test.each([
    ['subscriber', 'read', 'look for the subscribers of an event, without any', 1, 3000],
    ['registered-subscriber', 'read', 'sweep no subscribers', 32, 3000],
  ] as const)('of subscribers take fewer: %s', (partition, kind, request, units, ceiling) => {
    expect(loadOf(partition, kind)).toEqual({ partition, kind, request, units })
    expect(ceilingOf(loadOf(partition, kind))).toBe(ceiling)
  })

  test.each(['idempotency', 'rate', 'otp', 'subscriber_health', 'waiting_delivery'])(
    'of one name have no number: %s',
    (partition) => {
      expect(ceilingOf(loadOf(partition, 'write'))).toBeUndefined()
    },
  )
})

test('the table of a page is replaced, and nothing else of it', () => {
  const load: PartitionLoad = { partition: 'pending-saga', kind: 'write', request: 'refund', units: 4 }
  expect(withPartitions('a\n<!-- partitions -->\nold\n<!-- /partitions -->\nb', [load])).toBe(
    [
      'a\n<!-- partitions -->',
      '| Partition | Number | Request | Units | A second, one tenant | A second, all tenants |',
      '| --- | --- | --- | --- | --- | --- |',
      '| `pending-saga` | 32 of all tenants | refund | 4 write | 8,000 | 8,000 |',
      '<!-- /partitions -->\nb',
    ].join('\n'),
  )
})
