import { parse } from 'content-type'
import * as v from 'valibot'
import type { ErrorCode } from '../../error-catalog.ts'
import type { Settings } from '../../settings/register.ts'
import { tenantNamePattern } from '../../settings/tenant-name.ts'
import { type Failure, fail, failField } from '../base/failure.ts'
import type { HttpRequest } from '../base/http.ts'
import { charactersOf } from '../formats/text.ts'
import { verifyApiKey } from '../identity/api-key.ts'
import { authorize, type TenantScope } from '../identity/authorize.ts'
import type { Caller } from '../identity/caller.ts'
import { verifySession } from '../identity/session.ts'
import { verifySender } from '../identity/signature.ts'
import type { RequestContext } from './context.ts'
import { type Endpoint, type Input, isKnownRoute, type SignedRequest } from './endpoint.ts'
import { invalidFields } from './invalid-fields.ts'
import { auditReason, checkAccept, checkTimeout, precondition } from './parse-headers.ts'
import { checkSunset } from './respond.ts'
import {
  atPath,
  type BodyType,
  bodyLimitOf,
  bodyTypesOf,
  isForTenants,
  type Query,
  type Route,
  takesSession,
} from './route.ts'
import { parseStrictJson } from './strict-json.ts'

/**
 * Returns the failure of a request that no endpoint takes. The stack passes the methods of the paths that a request
 * may name.
 */
function unknownRouteFailure({
  request,
  environment,
}: Pick<RequestContext, 'request' | 'environment'>): Failure {
  const methods = atPath<string[]>(request.path, JSON.parse(environment('METHODS') ?? '{}'))
  if (!methods) return fail('NOT_FOUND.route')
  const headers = { Allow: methods.join(', ') }
  return fail('VALIDATION.method.not_allowed', { headers, details: { supported: methods } })
}

/**
 * Checks what needs no credential: the route, its sunset, X-Request-Timeout and the size of the body.
 * @throws NOT_FOUND.route, VALIDATION.method.not_allowed, the code of the setting versioning.sunset, VALIDATION.header.invalid, the code of the
 * setting limits.tooLarge with 413
 */
export function checkRequest(
  context: Pick<RequestContext, 'route' | 'request' | 'settings' | 'startedAt' | 'environment'>,
): void {
  const { route, request, settings, startedAt } = context
  if (!isKnownRoute(route)) throw unknownRouteFailure(context)
  checkSunset(route.operation, settings, startedAt)
  if (!route.ignoresCallerOptions) checkTimeout(request.headers)
  const max = bodyLimitOf(route, settings)
  const actual = request.body?.byteLength ?? 0
  if (actual <= max) return
  throw failField(settings['limits.tooLarge'], 'body', { reason: 'too_large', max, actual }, { http: 413 })
}

/** Rejects a request in a blocked tenant. @throws POLICY.account.locked */
export async function checkNotBlocked(
  { route, isBlocked, table }: Pick<RequestContext, 'route' | 'isBlocked' | 'table'>,
  tenant: string,
): Promise<void> {
  if (!isForTenants(route)) return
  if (await isBlocked(tenant, table)) throw fail('POLICY.account.locked')
}

/**
 * Returns the tenant scope of a request: the caller's tenant, or the one that the request names. @throws AUTHZ.*,
 * POLICY.*
 */
export function scopeOf(
  context: Pick<RequestContext, 'request' | 'route' | 'caller' | 'settings' | 'scope'>,
): TenantScope {
  const { request, route, caller, settings, scope: publicScope } = context
  if (route.auth !== 'bearer') return publicScope
  // Deny by default: a bearer route without a row in the role matrix rejects every caller.
  const { access } = route
  if (!caller || !access) throw fail('AUTHZ.role.denied')
  const scopeIn = (tenant: string | undefined) => authorize(caller, { ...route, access }, tenant, settings)
  const parameters = tenantParameters(route, settings)
  const named = request.query.filter(([name]) => parameters.includes(name))
  const [scope = scopeIn(undefined)] = named.map(([, tenant]) => scopeIn(tenant))
  checkTenants(named, settings)
  return scope
}

/** Returns the query parameters that name the tenant of a request: the filter of a list does, too. */
function tenantParameters({ listing }: Route, settings: Settings): string[] {
  const filters = Object.entries(listing?.fields ?? {}).filter(([, kind]) => kind === 'tenant')
  return [settings['auth.adminTenantParameter'], ...filters.map(([name]) => name)]
}

/** @throws VALIDATION.filter.value_invalid unless the parameters name one tenant, each once */
function checkTenants(named: HttpRequest['query'], settings: Settings): void {
  const code = 'VALIDATION.filter.value_invalid'
  const pattern = tenantNamePattern(settings)
  for (const [name, { length }] of Map.groupBy(named, ([one]) => one))
    if (length > 1) throw repeated(code, name, length)
  for (const [name, tenant] of named) {
    const actual = charactersOf(tenant)
    if (!pattern.test(tenant))
      throw failField(code, name, { reason: 'format', regex: pattern.source, actual })
    const other = named.find(([, one]) => one !== tenant)
    if (other) throw failField(code, name, { reason: `not_with_${other[0]}`, actual })
  }
}

/**
 * Parses query, headers and body by the schemas of the route.
 * @throws VALIDATION.*, AUTHZ.filter.denied
 */
export function parseInput(
  context: Pick<RequestContext, 'request' | 'route' | 'caller' | 'settings'>,
): Input {
  const { request, route, caller, settings } = context
  const { ignoresCallerOptions = false } = route
  if (!ignoresCallerOptions) {
    checkAccept(request.headers, route.reply.mediaType?.(settings) ?? 'application/json', settings)
  }
  // `scopeOf` has checked the tenant of a bearer route. Others have no such parameter.
  const checked = route.auth === 'bearer' ? settings['auth.adminTenantParameter'] : undefined
  const query = request.query.filter(([name]) => !ignoresCallerOptions && name !== checked)
  const mayAskForDeleted = settings['lists.includeDeletedRoles'].some((role) => role === caller?.role)
  return {
    params: request.params,
    query: route.listing ? {} : parseQuery(query, route, settings),
    list: route.listing?.parse(query, route.listing, route.operation, mayAskForDeleted, settings),
    precondition: precondition(request, route, settings),
    reason: auditReason(request, route, settings),
    headers: ownHeaders(request, route, settings),
    body: route.body && parseBody(request, { ...route, body: route.body }, settings),
  }
}

/** @throws VALIDATION.header.invalid */
function ownHeaders({ headers }: HttpRequest, route: Route, settings: Settings): Input['headers'] {
  const defined = Object.entries(route.headers?.(settings) ?? {})
  const sent = Object.fromEntries(defined.map(([name]) => [name, headers[name.toLowerCase()]]))
  const schemas = defined.map(([name, { schema = v.string() }]) => [name, v.optional(schema)])
  const message = () => 'VALIDATION.header.invalid' satisfies ErrorCode
  const result = v.safeParse(v.object(Object.fromEntries(schemas)), sent, { abortPipeEarly: true, message })
  if (!result.success) throw invalidFields(result.issues, settings)
  return sent
}

function repeated(code: ErrorCode, name: string, actual: number): Failure {
  return failField(code, name, { reason: 'repeated', max: 1, actual })
}

const none = v.strictObject({})

/**
 * Parses the query parameters of a route that is not a list.
 * @throws VALIDATION.field.*, also for an unknown or repeated parameter
 */
function parseQuery(
  query: readonly (readonly [string, string])[],
  route: Pick<Route, 'query'>,
  settings: Settings,
): Query {
  for (const [name, { length }] of Map.groupBy(query, ([one]) => one)) {
    if (length > 1) throw repeated('VALIDATION.field.format', name, length)
  }
  const result = v.safeParse(route.query?.(settings) ?? none, Object.fromEntries(query))
  if (!result.success) throw invalidFields(result.issues, settings)
  return result.output
}

/**
 * Parses the body of a request by the schema of its media type. A missing body is an empty JSON object if only JSON is
 * accepted, whatever its content type: clients send one without any content. The error names the required fields.
 * @throws VALIDATION.content_type.unsupported, VALIDATION.body.* and the codes of the fields
 */
export function parseBody(
  request: HttpRequest,
  route: Pick<Route, 'bodyTypes'> & Required<Pick<Route, 'body'>>,
  settings: Settings,
): unknown {
  const { type, value } = contentOf(request, bodyTypesOf(route, settings), settings)
  const schema = route.body(settings, type)
  const result = v.safeParse(schema, value, { abortPipeEarly: true })
  if (!result.success) throw invalidFields(result.issues, settings)
  return result.output
}

/** The header of a 415 with the accepted media types, for methods that have their own (W3C LDP 7.1.2, RFC 5789 3.1). */
const acceptHeaders: Record<string, string> = { POST: 'Accept-Post', PATCH: 'Accept-Patch' }

function contentOf(
  { body, headers, method }: HttpRequest,
  types: readonly BodyType[],
  settings: Settings,
): { type: BodyType; value: unknown } {
  if (body === undefined && types.join() === 'application/json')
    return { type: 'application/json', value: {} }
  const { type: mediaType, parameters } = parse(headers['content-type'] ?? '')
  const type = types.find((one) => one === mediaType)
  const http = settings['errors.unsupportedMedia']
  const { charset = 'utf-8' } = parameters
  if (type === undefined || !/^utf-8$/i.test(charset)) {
    const details = { supported: types, charset: 'utf-8' }
    const options = { http, details, headers: { [acceptHeaders[method] ?? 'Accept']: types.join(', ') } }
    throw fail('VALIDATION.content_type.unsupported', options)
  }
  const { 'content-encoding': encoding = '' } = headers
  if (!isPlain(encoding)) {
    const problem = { reason: 'not_allowed', allowed: ['identity'], actual: encoding.length }
    const options = { http, headers: { 'Accept-Encoding': 'identity' } }
    throw failField('VALIDATION.content_type.unsupported', 'Content-Encoding', problem, options)
  }
  const text = decode(body ?? new Uint8Array())
  if (type !== 'application/json') return { type, value: text }
  return { type, value: body === undefined ? {} : jsonObject(text) }
}

/** Returns whether a body is not encoded. RFC 9110 advises against sending `identity`, but some clients do. */
function isPlain(contentEncoding: string): boolean {
  return contentEncoding.split(',').every((coding) => ['', 'identity'].includes(coding.trim().toLowerCase()))
}

function jsonObject(text: string): object {
  const value = parseStrictJson(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const actual = Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value
    throw failField('VALIDATION.field.type', 'body', { reason: 'type', type: 'object', actual })
  }
  return value
}

/** @throws VALIDATION.body.encoding unless it is UTF-8; a byte order mark is dropped */
function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw fail('VALIDATION.body.encoding', { cause })
  }
}

/**
 * Returns the caller of a bearer token, an API key, or a session where the operation accepts one. Only the first of
 * several credentials counts; if it is invalid, the others are not tried.
 * @throws AUTH.* when the credential is invalid
 */
export async function authenticate(
  context: Pick<
    RequestContext,
    'route' | 'request' | 'settings' | 'table' | 'now' | 'secret' | 'verifyToken'
  >,
  { verifySender: verify = verifyPartner }: Pick<Endpoint, 'verifySender'>,
): Promise<Caller | undefined> {
  const { route, request, settings, table, now } = context
  if (route.auth === 'none') return undefined
  if (route.auth === 'signature') {
    await verify(context)
    return undefined
  }
  const { headers } = request
  if (headers.authorization === undefined) {
    const apiKey = headers[settings['auth.apiKeyHeader'].toLowerCase()]
    if (apiKey !== undefined) return verifyApiKey(apiKey, table, now())
    if (takesSession(route, settings)) return verifySession(request, table, settings, now())
  }
  const nonce = headers[settings['auth.nonce'].header.toLowerCase()]
  return context.verifyToken(headers.authorization, nonce)
}

function verifyPartner({ request, secret, settings, now }: SignedRequest): Promise<void> {
  return verifySender(request, (options) => secret('webhooks', options), settings, now())
}
