import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { systemClock } from '#shared/platform/clock.ts'
import { startBudget } from '#shared/platform/limits/budget.ts'
import { beside, largestId, smallestId } from '#shared/platform/listing/ids.ts'
import { readMerged } from '#shared/platform/listing/merged-read.ts'
import { dynamodbTable } from '#shared/platform/table/dynamodb-table.ts'
import { type Entity, type Item, partitionsOf } from '#shared/platform/table/keys.ts'
import type { Table } from '#shared/platform/table/table.ts'

const pageSize = 500

/** The table named on the command line, with the credentials of the environment; or that of the local run. */
export async function openTable(name: string | undefined): Promise<Table> {
  const budget = startBudget(systemClock, 600_000)
  if (name !== undefined) return dynamodbTable(new DynamoDBClient({}), name, systemClock, budget)
  const file = join(import.meta.dirname, '../.local/service.json')
  const text = await readFile(file, 'utf8').catch(() => {
    throw new Error('the local service is not running: start it with npm start, or name a --table')
  })
  const { aws_endpoint: endpoint, region, table } = JSON.parse(text)
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' }
  return dynamodbTable(new DynamoDBClient({ endpoint, region, credentials }), table, systemClock, budget)
}

/** All items of an entity of a tenant, oldest first. */
export async function* itemsOf(table: Table, tenant: string, entity: Entity): AsyncGenerator<Item> {
  const partitions = partitionsOf(tenant, entity)
  for (let low = smallestId; ; ) {
    const range = { low, high: largestId, descending: false, limit: pageSize }
    const { items, exhausted } = await readMerged(table, partitions, range)
    for (const item of items) {
      yield item
      low = beside(item.sk, 1)
    }
    if (exhausted) return
  }
}
