import { afterAll, afterEach, describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { dynamodbTable } from '#shared/platform/aws/dynamodb-table.ts'
import { startBudget, systemClock } from '#shared/platform/base/clock.ts'
import type { Item } from '#shared/platform/table/keys.ts'
import { testClient } from '#test/support/dynamodb-client.ts'
import { createTable } from '#test/support/tables.ts'
import { startDynamodbProxy } from './dynamodb-proxy.ts'

const mayPass = [
  'ThrottlingError',
  'ProvisionedThroughputExceeded',
  'RequestLimitExceeded',
  'InternalServerError',
  'TransactionConflict',
]
const client = testClient()
let partitions = 0
const proxy = await startDynamodbProxy(process.env.DYNAMODB_ENDPOINT ?? '')
const tableName = await createTable(client)
afterEach(() => proxy.reset())
afterAll(async () => {
  client.destroy()
  await proxy.stop()
})

const open = (milliseconds = 20_000) =>
  dynamodbTable(testClient(proxy.endpoint), tableName, {
    clock: systemClock,
    budget: startBudget(systemClock, milliseconds),
  })
const itemsOf = (count: number): Item[] => {
  partitions += 1
  return Array.from({ length: count }, (_, n) => ({ pk: `p${partitions}`, sk: String(100 + n), n }))
}
const stored = async ([first]: readonly Item[]) => {
  const range = { partition: String(first?.pk), low: ' ', high: '~', descending: false, limit: 100 }
  return (await open().readRange(range)).items
}
/** The sort keys of each sent batch, in order. */
const batches = () =>
  proxy.calls
    .filter(({ operation }) => operation === 'BatchExecuteStatement')
    .map(({ body }) =>
      (body as { Statements: { Parameters: { S?: string }[] }[] }).Statements.map(
        ({ Parameters }) => Parameters[1]?.S,
      ),
    )
/** Fails the statements at these indexes of the next batches, one code after another. */
const failing = (places: readonly number[], codes: readonly string[], times = 1) =>
  proxy.inject({
    when: ({ operation }) => operation === 'BatchExecuteStatement',
    times,
    fault: {
      statements: (index) =>
        places.includes(index) ? codes[places.indexOf(index) % codes.length] : undefined,
    },
  })

describe('inserting items of which the table rejects some', () => {
  test.each(mayPass)('for %s retries only those, until all are stored', async (code) => {
    const items = itemsOf(25)
    failing([0, 7, 24], [code])
    expect(await open().insertMany(items)).toEqual([])
    expect(await stored(items)).toEqual(items)
    expect(batches()).toEqual([items.map(({ sk }) => sk), ['100', '107', '124']])
  })

  test('stores each once, whichever fail and however often', async () => {
    const rounds = fc.array(fc.uniqueArray(fc.integer({ min: 0, max: 24 }), { maxLength: 25 }), {
      maxLength: 4,
    })
    await fc.assert(
      fc.asyncProperty(rounds, fc.shuffledSubarray(mayPass, { minLength: 1 }), async (injected, codes) => {
        proxy.reset()
        const items = itemsOf(25)
        for (const places of injected) failing(places, codes)
        expect(await open().insertMany(items)).toEqual([])
        expect(await stored(items)).toEqual(items)
      }),
      { numRuns: 15, seed: 20_261_121 },
    )
  })

  test('distinguishes existing items, which stay unchanged', async () => {
    const items = itemsOf(10)
    const before = items.slice(2, 5).map((item) => ({ ...item, n: 'before' }))
    await open().insertMany(before)
    proxy.reset()
    failing([3, 8], ['ThrottlingError'])
    const known = await open().insertMany(items)
    expect(known.map(({ sk }) => sk).toSorted()).toEqual(['102', '103', '104'])
    expect(await stored(items)).toEqual(items.map((item, at) => before[at - 2] ?? item))
  })

  test('retries until the budget ends, and reports that', async () => {
    const items = itemsOf(3)
    failing([0], ['ProvisionedThroughputExceeded'], Number.POSITIVE_INFINITY)
    await expect(open(1500).insertMany(items)).rejects.toMatchObject({ code: 'DEPENDENCY.timeout' })
    expect(batches().length).toBeGreaterThan(2)
    expect(await stored(items)).toEqual(items.slice(1, 3))
  })

  test('fails at once if a retry cannot help', async () => {
    const items = itemsOf(4)
    failing([1], ['ValidationError'])
    await expect(open().insertMany(items)).rejects.toThrow('ValidationError')
    expect(batches()).toHaveLength(1)
  })
})
