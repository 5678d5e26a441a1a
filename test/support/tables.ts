import { CreateTableCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { dynamodbTable } from '#shared/platform/aws/dynamodb-table.ts'
import { lazy } from '#shared/platform/base/cached-load.ts'
import { type Budget, type Clock, startBudget, systemClock } from '#shared/platform/base/clock.ts'
import type { Units } from '#shared/platform/base/units.ts'
import { byIdIndex } from '#shared/platform/table/keys.ts'
import type { Criticality, Table } from '#shared/platform/table/table.ts'
import { MemoryStore } from '#test/simulation/memory-store.ts'
import { memoryTable, type Transit } from '#test/simulation/memory-table.ts'
import { tablesInMemory, testClient } from './dynamodb-client.ts'

/**
 * Creates a table on DynamoDB Local and returns its name. With `TABLE=memory` it is in memory, which is faster.
 * memory-table.test.ts compares the two.
 */
export async function newTable(): Promise<string> {
  return process.env.TABLE === 'memory' ? newMemoryTable() : createTable()
}

export function newMemoryTable(store = new MemoryStore()): string {
  const name = `t-${crypto.randomUUID()}`
  tablesInMemory.set(name, store)
  return name
}

const localClient = lazy(testClient)

interface OpenOptions {
  clock?: Clock
  budget?: Budget
  criticality?: Criticality
  units?: Units
  client?: DynamoDBClient
  /** Carries the calls of a table in memory. */
  transit?: Transit
}

/** Opens a table of `newTable` by its name. */
export function openTable(name: string, options: OpenOptions = {}): Table {
  const { clock = systemClock, budget = startBudget(clock, 3_600_000), client, transit, units } = options
  const access = { clock, budget, criticality: options.criticality ?? 'critical', ...(units && { units }) }
  const store = tablesInMemory.get(name)
  return store ? memoryTable(store, access, transit) : dynamodbTable(client ?? localClient(), name, access)
}

/** Creates a table as in production, without streams, which slow DynamoDB Local down. */
export async function createTable(
  client: DynamoDBClient = localClient(),
  name = `t-${crypto.randomUUID()}`,
): Promise<string> {
  await client.send(
    new CreateTableCommand({
      TableName: name,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: ['pk', 'sk', 'id'].map((AttributeName) => ({
        AttributeName,
        AttributeType: 'S',
      })),
      KeySchema: [
        { AttributeName: 'pk', KeyType: 'HASH' },
        { AttributeName: 'sk', KeyType: 'RANGE' },
      ],
      GlobalSecondaryIndexes: [
        {
          IndexName: byIdIndex,
          KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
          Projection: { ProjectionType: 'KEYS_ONLY' },
        },
      ],
    }),
  )
  return name
}
