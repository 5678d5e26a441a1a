import type { Caller } from '../auth/caller.ts'
import { Denial } from '../auth/denial.ts'
import type { Clock } from '../clock.ts'
import { Failure } from '../errors/failure.ts'
import type { Table } from '../table/table.ts'
import { auditItem } from './audit-record.ts'

/**
 * Writes the audit record of a denial before the denial is told (contract, 'Audit record'): if the record cannot be
 * written, the caller is told that the service is unavailable and is not let in either.
 * @returns what to answer
 */
export async function auditDenial(
  thrown: unknown,
  action: string,
  area: string,
  caller: Caller | undefined,
  correlationId: string,
  table: Table,
  clock: Clock,
): Promise<unknown> {
  const answer = thrown instanceof Denial ? thrown.failure : thrown
  const reason = thrown instanceof Denial ? thrown.reason : deniedCode(thrown)
  if (!caller || !reason) return answer
  const target = thrown instanceof Denial ? thrown.target : area
  const entry = { action, target, result: 'deny' as const, reason }
  await table.put({ item: auditItem(caller, entry, correlationId, clock), condition: { absent: true } })
  return answer
}

function deniedCode(thrown: unknown): string | undefined {
  return thrown instanceof Failure && /^(AUTHZ|POLICY)\./.test(thrown.code) ? thrown.code : undefined
}
