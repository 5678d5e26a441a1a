import type { Settings } from '../../settings/register.ts'
import { isUuidV7 } from '../base/clock.ts'
import { Denial, Failure } from '../base/failure.ts'
import type { HttpRequest } from '../base/http.ts'
import { type AuditEntry, auditItem, type CommitContext } from '../idempotency/commit.ts'
import { areaOf } from '../identity/authorize.ts'
import { parseBody } from './check-request.ts'
import type { RequestContext } from './context.ts'
import type { Route } from './route.ts'

/** The denied action. It contains only data that the caller sent. */
export type Attempt = Pick<AuditEntry, 'action' | 'target' | 'after'>

/**
 * Writes the audit record of a denied request before the response.
 * @returns the error for the response: that of the table (DEPENDENCY.*) if the record cannot be written
 */
export async function auditDenial(thrown: unknown, context: RequestContext): Promise<unknown> {
  return writeDenial(thrown, () => deniedAttempt(context), context).catch((fault: unknown) => fault)
}

/**
 * Writes the audit record of a denial, if the error is one and the caller is known.
 * @param attemptOf describes the denied action; called only for a denial
 * @returns the error for the response
 * @throws DEPENDENCY.* when the record cannot be written
 */
export async function writeDenial(
  thrown: unknown,
  attemptOf: () => Attempt,
  { caller, correlation, table, clock }: CommitContext,
): Promise<unknown> {
  const error = thrown instanceof Denial ? thrown.failure : thrown
  const reason = thrown instanceof Denial ? thrown.reason : deniedCode(thrown)
  if (!caller || !reason) return error
  const known = thrown instanceof Denial ? { target: thrown.target } : {}
  const entry = { ...attemptOf(), ...known, result: 'deny' as const, reason }
  await table.put({ item: auditItem(caller, entry, correlation.id, clock), condition: { absent: true } })
  return error
}

function deniedCode(thrown: unknown): string | undefined {
  return thrown instanceof Failure && /^(AUTHZ|POLICY)\./.test(thrown.code) ? thrown.code : undefined
}

/** Describes a denied request for the audit from the request itself. */
function deniedAttempt({ endpoint, request, settings }: RequestContext): Attempt {
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
