import { itemsOf } from '../listing/read-index.ts'
import type { Table } from '../table/table.ts'
import type { AuditRecord } from './record.ts'

/** Yields the audit records of a tenant without their keys, oldest first. */
export async function* auditRecords(table: Table, tenant: string): AsyncGenerator<AuditRecord> {
  for await (const { pk: _pk, sk: _sk, ...record } of itemsOf(table, tenant, 'audit')) {
    yield record as unknown as AuditRecord
  }
}
