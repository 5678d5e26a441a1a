import type { Settings } from '../../settings/register.ts'
import type { Attempt } from '../audit/audit-denial.ts'
import { areaOf } from '../auth/authorise.ts'
import { isUuidV7 } from '../ids/uuid-v7.ts'
import { parseBody } from './parse-body.ts'
import type { Passage } from './passage.ts'
import type { HttpRequest } from './request.ts'
import type { Route } from './route.ts'

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
