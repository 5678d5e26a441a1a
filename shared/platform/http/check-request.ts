import type { Settings } from '../../settings/register.ts'
import { authorise, type Scope } from '../auth/authorise.ts'
import type { Caller } from '../auth/caller.ts'
import { hasSessionCookie } from '../auth/session-cookie.ts'
import { tenantNamePattern } from '../auth/tenant-name.ts'
import { verifyApiKey } from '../auth/verify-api-key.ts'
import { verifySession } from '../auth/verify-session.ts'
import { verifySignature } from '../auth/verify-signature.ts'
import { fail, failField } from '../errors/failure.ts'
import type { Budget } from '../limits/budget.ts'
import { parseListQuery } from '../listing/list-query.ts'
import type { Table } from '../table/table.ts'
import type { Checked } from './endpoint.ts'
import { parseBody } from './parse-body.ts'
import { auditReason, ifMatch } from './parse-headers.ts'
import { parseQuery } from './parse-query.ts'
import type { Runtime } from './passage.ts'
import type { HttpRequest } from './request.ts'
import { bodyLimitOf, type Route, takesSession } from './route.ts'

/** @throws the code of the setting limits.tooLarge with 413 when the body exceeds the limit of its route */
export function checkBodySize(request: HttpRequest, route: Route, settings: Settings): void {
  const max = bodyLimitOf(route, settings)
  const actual = request.body?.byteLength ?? 0
  if (actual <= max) return
  const details = { fields: { body: { reason: 'too_large', max, actual } } }
  throw fail(settings['limits.tooLarge'], { http: 413, details })
}

/**
 * Returns the caller of a bearer token, an API key, or a session where the operation accepts one. Only the first of
 * several credentials counts; if it is invalid, the others are not tried.
 * @throws AUTH.* when the credential is invalid
 */
export async function authenticate(
  request: HttpRequest,
  route: Route,
  { tokens, secret, settings, clock }: Pick<Runtime, 'tokens' | 'secret' | 'settings' | 'clock'>,
  table: Table,
  budget: Budget,
): Promise<Caller | undefined> {
  if (route.auth === 'none') return undefined
  if (route.auth === 'signature') {
    verifySignature(request, await secret('webhooks', budget), settings, clock.now())
    return undefined
  }
  const { headers } = request
  if (headers.authorization === undefined) {
    const apiKey = headers[settings['auth.apiKeyHeader'].toLowerCase()]
    if (apiKey !== undefined) return verifyApiKey(apiKey, table, clock.now())
    const session = takesSession(route, settings) && hasSessionCookie(headers)
    if (session) return verifySession(request, table, settings, clock.now())
  }
  const nonce = headers[settings['auth.nonce'].header.toLowerCase()]
  return tokens.verify(headers.authorization, nonce, clock.now(), budget)
}

/**
 * Returns the tenant scope of a request: the caller's tenant, or the one that the request names. @throws AUTHZ.*,
 * POLICY.*
 */
export function scopeOf(
  request: HttpRequest,
  route: Route,
  caller: Caller | undefined,
  settings: Settings,
): Scope {
  if (route.auth !== 'bearer') return { tenant: settings['auth.publicTenant'], anywhere: false }
  // Deny by default: a bearer route without a row in the role matrix rejects every caller.
  if (!caller || !route.access) throw fail('AUTHZ.role.denied')
  const name = settings['auth.adminTenantParameter']
  const addressed = request.query.filter(([one]) => one === name).map(([, value]) => value)
  const scope = authorise(caller, { ...route, access: route.access }, addressed[0], settings)
  if (addressed.length > 1) throw failField('VALIDATION.filter.value_invalid', name, { reason: 'repeated' })
  const pattern = tenantNamePattern(settings)
  if (!pattern.test(scope.tenant)) {
    throw failField('VALIDATION.filter.value_invalid', name, {
      reason: 'format',
      regex: pattern.source,
    })
  }
  return scope
}

/** Parses query, headers and body by the schemas of the route. @throws VALIDATION.*, AUTHZ.filter.denied */
export function parseRequest(
  request: HttpRequest,
  route: Route,
  caller: Caller | undefined,
  scope: Scope,
  settings: Settings,
): Checked<unknown> {
  const query = request.query.filter(([name]) => name !== settings['auth.adminTenantParameter'])
  const mayAskForDeleted = settings['lists.includeDeletedRoles'].some((role) => role === caller?.role)
  const list =
    route.listing && parseListQuery(query, route.listing, route.operation, mayAskForDeleted, settings)
  return {
    params: request.params,
    headers: request.headers,
    query: route.listing ? {} : parseQuery(query, route, settings),
    list,
    ifMatch: ifMatch(request, route, settings),
    reason: auditReason(request, route, settings),
    body: route.body && parseBody(request, { ...route, body: route.body }, settings),
    caller,
    scope,
  }
}
