import { unmarshall } from '@aws-sdk/util-dynamodb'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { dynamodbTable } from '#shared/platform/aws/dynamodb-table.ts'
import { startBudget, systemClock } from '#shared/platform/base/clock.ts'
import type { Item, Key } from '#shared/platform/table/keys.ts'
import {
  type Change,
  type Condition,
  keyOfChange,
  type Table,
  type Update,
} from '#shared/platform/table/table.ts'
import { testClient } from '#test/support/dynamodb-client.ts'
import { runs } from '#test/support/runs.ts'
import { streamOf, type TableStream } from '#test/support/table-stream.ts'
import { createTable } from '#test/support/tables.ts'
import { MemoryStore, type StreamRecord } from './memory-store.ts'
import { memoryTable } from './memory-table.ts'

/** A call of the table API; its partitions get a prefix for each run. */
type Command =
  | { call: 'get'; key: Key }
  | { call: 'getMany'; keys: Key[] }
  | { call: 'readRange'; partition: string; low: string; high: string; descending: boolean; limit: number }
  | { call: 'findById'; id: string }
  | { call: 'transact'; changes: Change[] }
  | { call: 'put'; item: Item; condition: Condition | 'none' }
  | { call: 'update'; change: Update }
  | { call: 'insertMany'; items: Item[] }

// Few keys, so that commands meet; some of them sort differently as UTF-16 than as UTF-8.
const partition = fc.constantFrom('order#a#0', 'code#a#0')
const sortKey = fc.constantFrom('1', '2', 'a', 'é', '\u{fffd}', '\u{1f600}')
const key = fc.record({ pk: partition, sk: sortKey })
const scalar = fc.constantFrom<string | number>('a', 'b', '\u{fffd}', '\u{1f600}', '', 0, 1, -2.5)
const value = fc.oneof(
  scalar,
  fc.constantFrom(true, null, undefined, ['a', { b: 1 }], { c: [], d: undefined }, new Uint8Array([1, 2])),
)
const id = fc.constantFrom('i', 'j', 'k')
const item = fc
  .record({
    key,
    id: fc.option(id, { nil: undefined }),
    s: value,
    n: scalar,
    expires_at: fc.option(scalar, { nil: undefined }),
  })
  .map(({ key: { pk, sk }, ...rest }): Item => ({ pk, sk, ...rest }))
const oneAttribute = fc.constantFrom('s', 'n', 'absent')
const condition: fc.Arbitrary<Condition | 'none'> = fc.oneof(
  fc.constant('none' as const),
  fc.constant({ absent: true as const }),
  fc.integer({ min: -1, max: 2 }).map((absentOrExpiredBy) => ({ absentOrExpiredBy })),
  fc.record({ attribute: oneAttribute, value: scalar }).map((absentOrBelow) => ({ absentOrBelow })),
  fc
    .record({ attribute: fc.constantFrom('l', 'absent'), length: fc.integer({ min: 0, max: 3 }) })
    .map((absentOrShorter) => ({ absentOrShorter })),
  fc
    .record({
      matches: fc.dictionary(oneAttribute, scalar, { maxKeys: 2 }),
      oneOf: fc.option(fc.dictionary(oneAttribute, fc.array(fc.constantFrom('a', 'b'), { maxLength: 2 })), {
        nil: undefined,
      }),
      below: fc.option(fc.dictionary(oneAttribute, fc.constantFrom('a', 'b', '\u{1f600}')), {
        nil: undefined,
      }),
      lacks: fc.option(fc.uniqueArray(oneAttribute, { maxLength: 2 }), { nil: undefined }),
    })
    .map(({ matches, oneOf, below, lacks }) => ({
      matches,
      ...(oneOf && { oneOf }),
      ...(below && { below }),
      ...(lacks && { lacks }),
    })),
)
const update: fc.Arbitrary<Update> = fc.record({
  update: key,
  set: fc.dictionary(fc.constantFrom('s', 'n'), value, { maxKeys: 2 }),
  copy: fc.constantFrom({}, {}, { t: 's' }, { t: 'absent' }, { s: 'n' }),
  increment: fc.constantFrom([], [], ['n'], ['version']),
  add: fc.constantFrom({}, {}, { count: 2 }, { s: 1 }),
  append: fc.constantFrom({}, {}, { l: [1] }, { l: ['a', { b: 1 }] }, { s: [1] }),
  condition,
})
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ item, condition }),
  fc.record({ remove: key, condition }),
  fc.record({ check: key, condition: condition.filter((one) => one !== 'none') }),
  update,
)
// DynamoDB Local finds two changes of one item only after the first conditions; DynamoDB rejects them at once.
const nameOfItem = (one: Change) => {
  const { pk, sk } = keyOfChange(one)
  return `${pk} ${sk}`
}
const command: fc.Arbitrary<Command> = fc.oneof(
  fc.record({ call: fc.constant('get' as const), key }),
  fc.record({ call: fc.constant('getMany' as const), keys: fc.array(key, { maxLength: 4 }) }),
  fc.record({
    call: fc.constant('readRange' as const),
    partition,
    low: sortKey,
    high: sortKey,
    descending: fc.boolean(),
    limit: fc.integer({ min: 1, max: 4 }),
  }),
  fc.record({ call: fc.constant('findById' as const), id }),
  fc.record({
    call: fc.constant('transact' as const),
    changes: fc.uniqueArray(change, { maxLength: 4, selector: nameOfItem }),
  }),
  fc.record({ call: fc.constant('put' as const), item, condition }),
  fc.record({ call: fc.constant('update' as const), change: update }),
  fc.record({
    call: fc.constant('insertMany' as const),
    items: fc.uniqueArray(item, { maxLength: 4, selector: ({ pk, sk }) => `${pk} ${sk}` }),
  }),
)

let client: ReturnType<typeof testClient>
let tableName: string
let stream: TableStream
let run = 0
beforeAll(async () => {
  client = testClient()
  tableName = await createTable(client)
  stream = await streamOf(tableName)
})
afterAll(() => client.destroy())

/** Returns what a command returned, or that it threw. Sets have no order. */
async function outcomeOf(table: Table, one: Command): Promise<unknown> {
  try {
    switch (one.call) {
      case 'get':
        return await table.get(one.key)
      case 'getMany':
        return (await table.getMany(one.keys)).toSorted(byKey)
      case 'readRange':
        return await table.readRange(one)
      case 'findById':
        return await table.findById('order', one.id)
      case 'transact':
        return await table.transact(one.changes)
      case 'put':
        return await table.put({ item: one.item, condition: one.condition })
      case 'update':
        return await table.update(one.change)
      case 'insertMany':
        return (await table.insertMany(one.items)).toSorted(byKey)
    }
  } catch {
    return 'thrown'
  }
}

const byKey = (one: Key, other: Key) =>
  JSON.stringify([one.pk, one.sk]) < JSON.stringify([other.pk, other.sk]) ? -1 : 1

/** Returns a command whose partitions and ids are its run's own. */
function ofRun(one: Command, run: number): Command {
  return JSON.parse(JSON.stringify(one, bytesAsArray), (name, member) => {
    if (name === 'pk' || name === 'partition') return typeof member === 'string' ? `${member}#${run}` : member
    if (name === 'id') return `${member}#${run}`
    return member?.bytes ? new Uint8Array(member.bytes) : member
  })
}

function bytesAsArray(_: string, member: unknown) {
  return member instanceof Uint8Array ? { bytes: [...member] } : member
}

/** An index that several items match returns them in any order. */
function isAmbiguous(store: MemoryStore, one: Command): boolean {
  return one.call === 'findById' && store.findIndexed(one.id).length > 1
}

test('the table in memory returns and streams what DynamoDB does, for any sequence of commands', async () => {
  const records: StreamRecord[] = []
  const property = async (commands: Command[]) => {
    run += 1
    const store = new MemoryStore({ onRecord: (record) => records.push(record) })
    const access = { clock: systemClock, budget: startBudget(systemClock, 60_000) }
    const memory = memoryTable(store, access)
    const real = dynamodbTable(client, tableName, access)
    for (const any of commands) {
      const one = ofRun(any, run)
      const expected = await outcomeOf(real, one)
      const actual = await outcomeOf(memory, one)
      if (!isAmbiguous(store, one)) expect({ one, outcome: actual }).toEqual({ one, outcome: expected })
    }
  }
  await fc.assert(fc.asyncProperty(fc.array(command, { minLength: 1, maxLength: 30 }), property), {
    ...runs(400),
  })
  expect(byItem(records)).toEqual(byItem(await streamed()))
})

async function streamed(): Promise<Pick<StreamRecord, 'before' | 'after'>[]> {
  const itemOf = (image: unknown) =>
    image ? (unmarshall(JSON.parse(JSON.stringify(image), bytesInBase64)) as Item) : undefined
  return (await stream.read()).map(({ dynamodb }) => ({
    before: itemOf(dynamodb?.OldImage),
    after: itemOf(dynamodb?.NewImage),
  }))
}

function bytesInBase64(name: string, member: unknown) {
  return name === 'B' && typeof member === 'string' ? Uint8Array.from(Buffer.from(member, 'base64')) : member
}

/** Only the records of one item have an order. */
function byItem(records: readonly Pick<StreamRecord, 'before' | 'after'>[]): object {
  const changes = records.map(({ before, after }) => ({ before, after }))
  return Object.fromEntries(
    Map.groupBy(changes, ({ before, after }) =>
      JSON.stringify([(after ?? before)?.pk, (after ?? before)?.sk]),
    ),
  )
}
