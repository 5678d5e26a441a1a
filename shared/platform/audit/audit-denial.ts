import { Denial } from '../auth/denial.ts'
import { Failure } from '../errors/failure.ts'
import type { Committer } from '../idempotency/commit.ts'
import { type AuditEntry, auditItem } from './audit-record.ts'

/** The denied action. It contains only data that the caller sent. */
export type Attempt = Pick<AuditEntry, 'action' | 'target' | 'after'>

/**
 * Writes the audit record of a denial before the response. If the record cannot be written, the caller gets the error
 * of the table (DEPENDENCY.*) and still no access.
 * @param attemptOf describes the denied action; called only for a denial
 * @returns the error for the response
 */
export async function auditDenial(
  thrown: unknown,
  attemptOf: () => Attempt,
  { caller, correlation, table, clock }: Committer,
): Promise<unknown> {
  const answer = thrown instanceof Denial ? thrown.failure : thrown
  const reason = thrown instanceof Denial ? thrown.reason : deniedCode(thrown)
  if (!caller || !reason) return answer
  const known = thrown instanceof Denial ? { target: thrown.target } : {}
  const entry = { ...attemptOf(), ...known, result: 'deny' as const, reason }
  await table.put({ item: auditItem(caller, entry, correlation.id, clock), condition: { absent: true } })
  return answer
}

function deniedCode(thrown: unknown): string | undefined {
  return thrown instanceof Failure && /^(AUTHZ|POLICY)\./.test(thrown.code) ? thrown.code : undefined
}
