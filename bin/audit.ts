import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { systemClock } from '#shared/platform/clock.ts'
import { startBudget } from '#shared/platform/limits/budget.ts'
import { beside, largestId, smallestId } from '#shared/platform/listing/ids.ts'
import { readMerged } from '#shared/platform/listing/merged-read.ts'
import { dynamodbTable } from '#shared/platform/table/dynamodb-table.ts'
import { partitionsOf } from '#shared/platform/table/keys.ts'
import type { Table } from '#shared/platform/table/table.ts'

const usage = `usage: npm run -s audit -- --tenant T [--table NAME]
Prints the audit records of a tenant as JSON lines, oldest first. Without --table it reads the local run's table.`
const pageSize = 500

/** The audit records of a tenant, oldest first, without their keys. */
export async function* auditRecords(table: Table, tenant: string): AsyncGenerator<Record<string, unknown>> {
  const partitions = partitionsOf(tenant, 'audit')
  for (let low = smallestId; ; ) {
    const range = { low, high: largestId, descending: false, limit: pageSize }
    const { items, exhausted } = await readMerged(table, partitions, range)
    for (const { pk: _, sk, ...record } of items) {
      yield record
      low = beside(sk, 1)
    }
    if (exhausted) return
  }
}

/** The table named on the command line, with the credentials of the environment; or that of the local run. */
async function openTable(name: string | undefined): Promise<Table> {
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

async function main(): Promise<void> {
  const text = { type: 'string' } as const
  const { values } = parseArgs({ options: { tenant: text, table: text } })
  if (values.tenant === undefined) throw new Error('tenant is needed')
  for await (const record of auditRecords(await openTable(values.table), values.tenant)) {
    console.log(JSON.stringify(record))
  }
}

if (import.meta.main) {
  main().catch((thrown: Error) => {
    console.error(`${thrown.message}\n${usage}`)
    process.exitCode = 1
  })
}
