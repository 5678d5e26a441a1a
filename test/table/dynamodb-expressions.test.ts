import { marshall } from '@aws-sdk/util-dynamodb'
import { describe, expect, test } from '@jest/globals'
import { conditionalPut } from '#shared/platform/aws/dynamodb-expressions.ts'
import type { Item } from '#shared/platform/table/keys.ts'
import type { Condition } from '#shared/platform/table/table.ts'

const item: Item = { pk: 'order#acme#0', sk: '1', amount: 5 }
const name = 'orders'

describe('a condition', () => {
  test.each<[string, Condition, string, object, object]>([
    ['that the item is absent', { absent: true }, 'attribute_not_exists(pk)', {}, {}],
    [
      'that the item is absent or expired',
      { absentOrExpiredBy: 9 },
      'attribute_not_exists(pk) OR expires_at <= :v0',
      {},
      { ':v0': 9 },
    ],
    [
      'that the attribute is absent or has a smaller value',
      { absentOrBelow: { attribute: 'occurred_at', value: 'x' } },
      'attribute_not_exists(#n0) OR #n0 < :v0',
      { '#n0': 'occurred_at' },
      { ':v0': 'x' },
    ],
    [
      'that the item is absent or has a shorter list',
      { absentOrShorter: { attribute: 'times', length: 5 } },
      'attribute_not_exists(pk) OR size(#n0) < :v0',
      { '#n0': 'times' },
      { ':v0': 5 },
    ],
    [
      'on its state',
      {
        matches: { version: 1, color: 'red' },
        oneOf: { state: ['a', 'b'] },
        below: { at: 'z' },
        lacks: ['ended'],
      },
      '#n0 = :v0 AND #n1 = :v1 AND #n2 IN (:v2, :v3) AND #n3 < :v4 AND attribute_not_exists(#n4)',
      { '#n0': 'version', '#n1': 'color', '#n2': 'state', '#n3': 'at', '#n4': 'ended' },
      { ':v0': 1, ':v1': 'red', ':v2': 'a', ':v3': 'b', ':v4': 'z' },
    ],
    ['on one value', { matches: { state: 'a' } }, '#n0 = :v0', { '#n0': 'state' }, { ':v0': 'a' }],
  ])('%s', (_, condition, ConditionExpression, names, values) => {
    expect(conditionalPut(name, { item, condition })).toEqual({
      TableName: name,
      Item: marshall(item),
      ConditionExpression,
      ...(Object.keys(names).length > 0 && { ExpressionAttributeNames: names }),
      ...(Object.keys(values).length > 0 && { ExpressionAttributeValues: marshall(values) }),
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    })
  })
})
