import { type AuditedAction, auditPut } from '#shared/platform/audit/audit-record.ts'
import { type Clock, newId } from '#shared/platform/base/clock.ts'
import type { Put, Table } from '#shared/platform/table/table.ts'

/** An operator who changes the table of a deployment. */
export interface Operator {
  table: Table
  clock: Clock
  /** The actor in audit records. */
  name: string
}

/** Returns the audit record of an operator's action, to be written with that action. */
export function auditOfOperator({ name: sub, clock }: Operator, tenant: string, audited: AuditedAction): Put {
  const source = { correlation: { id: newId(clock) }, clock }
  return auditPut({ sub, tenant, role: undefined }, audited, source)
}
