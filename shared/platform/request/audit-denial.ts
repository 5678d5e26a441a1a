import type { Settings } from '../../settings/register.ts'
import { Denial, Failure } from '../base/failure.ts'
import type { HttpRequest } from '../base/http.ts'
import { isUuidV7 } from '../base/ids.ts'
import { type AuditEntry, auditItem } from '../idempotency/audit-record.ts'
import type { Committer } from '../idempotency/commit.ts'
import { areaOf } from '../identity/authorize.ts'
import { parseBody } from './parse-request.ts'
import type { Passage } from './passage.ts'
import type { Route } from './route.ts'

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

/** Describes a denied request for the audit from the request itself. */
export function deniedAttempt({ endpoint, request, settings }: Passage): Attempt {
  const { operation, action = operation } = endpoint.route
  return {
    action,
    target: targetOf(areaOf(endpoint.route), Object.values(request.params)),
    ...auditedFields(endpoint.route, request, settings),
  }
}

/** Stores nothing of an invalid body, because it may hold anything. */
function auditedFields(route: Route, request: HttpRequest, settings: Settings): Pick<Attempt, 'after'> {
  const { body, auditedFields: names } = route
  if (!body || !names) return {}
  try {
    const fields = parseBody(request, { ...route, body }, settings) as Record<string, unknown>
    return { after: Object.fromEntries(names.map((name) => [name, fields[name]])) }
  } catch {
    return {}
  }
}

/**
 * Returns `code/<id>` for the area `codes` if the caller names one item by a well-formed id, else the area. Other
 * text is not stored.
 */
export function targetOf(area: string, sent: readonly unknown[]): string {
  const id = sent.find((one) => typeof one === 'string' && isUuidV7(one))
  return id === undefined ? area : `${area.replace(/s$/, '')}/${id}`
}
