import { parseArgs } from 'node:util'
import type { Table } from '#shared/platform/table/table.ts'
import { itemsOf, openTable } from './open-table.ts'

const usage = `usage: npm run -s audit -- --tenant T [--table NAME]
Prints the audit records of a tenant as JSON lines, oldest first. Without --table it reads the local run's table.`

/** The audit records of a tenant, oldest first, without their keys. */
export async function* auditRecords(table: Table, tenant: string): AsyncGenerator<Record<string, unknown>> {
  for await (const { pk: _pk, sk: _sk, ...record } of itemsOf(table, tenant, 'audit')) yield record
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
