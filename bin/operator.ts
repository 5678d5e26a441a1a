import type { Clock } from '#shared/platform/base/clock.ts'
import { newId } from '#shared/platform/base/clock.ts'
import { type AuditEntry, auditItem } from '#shared/platform/idempotency/audit-record.ts'
import type { Put } from '#shared/platform/table/table.ts'

/** Returns the audit record of an operator's action, to be written with that action. */
export function auditOfOperator(tenant: string, entry: AuditEntry, clock: Clock): Put {
  const operator = { sub: 'operator', tenant, role: undefined, scopes: new Set<string>(), claims: {} }
  const record = { reason: 'allowed', ...entry, result: 'allow' as const }
  return { item: auditItem(operator, record, newId(clock), clock), condition: { absent: true } }
}
