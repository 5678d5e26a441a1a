import type * as v from 'valibot'
import type { ErrorCode } from '../../error-catalog.ts'
import type { SettingKey, Settings } from '../../settings/register.ts'
import type { KeyName, SecretName } from '../base/secrets.ts'
import { type Access, areaOf } from '../identity/authorize.ts'
import type { RouteListing } from '../listing/list-query.ts'
import type { TableUse } from '../table/table.ts'
import type { WindowLimit } from '../table/window.ts'

/** A capability of a function other than the table. Its AWS permissions come only from these. */
export type Use =
  | `secret.${KeyName | Exclude<SecretName, 'probe'>}`
  | 'files.write'
  | 'files.link'
  | 'pool.client'
  | 'pool.login'
  | 'imports.write'
  | 'imports.read'
  | 'rejects.write'
  | 'rejects.read'

/** A limit of requests. */
export interface RateLimit extends WindowLimit {
  /** `failures`: only requests that failed; a success writes nothing. Requests in flight may exceed such a limit. */
  counts?: 'requests' | 'failures'
}

/** The rate limit of an operation, and the properties that identify a caller. */
export interface Throttle extends RateLimit {
  /** `source` is the network of the caller, `body.email` a field of the parsed body. */
  by: readonly ('source' | `body.${string}`)[]
  /** Routes with the same name share one counter; by default each operation has its own. */
  shared?: string
}

/** The media types of a body. A text body is passed as a string. */
export type BodyType = 'application/json' | 'text/csv'

/** The parsed query parameters of a route. */
export type Query = Readonly<Record<string, string | boolean | undefined>>

/** An error of a route that differs from the same code of other routes. */
export interface RouteError {
  code: ErrorCode
  /** Its status; by default that of the code in this deployment. */
  status?: number
  /** It is committed with its effects, so it is stored for an Idempotency-Key and replayed. */
  stored?: true
  /** Limits that count failures do not count it. */
  uncounted?: true
  /** Whether this deployment returns it. */
  when?: (settings: Settings) => boolean
}

/** A header of one operation. `key`: the setting that names it. */
interface HeaderDefinition {
  description: string
  required?: true
  key: SettingKey
  example: string
  /** The schema of its value; any text without one. */
  schema?: v.GenericSchema<string>
}

/**
 * One operation of the service as data, used by its handler, the infrastructure, the API description and the tests.
 */
export interface Route<
  Body extends v.GenericSchema = v.GenericSchema,
  View extends v.GenericSchema = v.GenericSchema,
> {
  /** `<area>.<verb>`: its name in settings and logs. */
  operation: string
  /** Its name in the audit; by default its operation. */
  action?: string
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Variables are whole segments. The last may be followed by a verb: `/codes/{id}:restore`. */
  path: string | ((settings: Settings) => string)
  /** Distinguishes it from a route of the same method and path: this boolean query parameter is true. */
  when?: string
  summary: string
  description: string
  /** `signature`: an HMAC over the body, defined by the setting webhooks.scheme, or by `signer`. */
  auth: 'bearer' | 'signature' | 'none'
  /** The only sender of the route, if it signs by its own scheme. */
  signer?: 'stripe'
  /** The row of the role matrix; every bearer route has one. */
  access?: Access
  /** A fixed token scope. Others come from the setting auth.scopes. */
  scope?: string
  /** `accepted`: the key is optional unless the setting idempotency.requiredOn names the operation. */
  idempotency: 'required' | 'accepted' | 'none'
  /**
   * The body holds a secret that must not be recoverable from an idempotency record, even by trial: a password, a
   * code.
   */
  confidential?: true
  /** A success mails the message that its reply names as `message_id`. */
  mails?: true
  /** Sets cookies, so browsers may call it with credentials. */
  setsCookies?: true
  /** Fixed limits; others come from the setting limits.other. */
  throttle?: (settings: Settings) => readonly Throttle[]
  /** Whether a success counts as a failure for limits that count failures, by the body of its reply. */
  isFailure?: (body: unknown) => boolean
  /** Whether it requires If-Match, or honors one that is sent. */
  ifMatch?: 'required' | 'accepted'
  /** The header with the reason for the audit, and its maximum length in characters. */
  reason?: (settings: Settings) => { header: string; maxLength: number }
  /**
   * Its own headers, by name: its handler gets no others. They decide what a request does, like the body: another value
   * is another payload for a key.
   */
  headers?: (settings: Settings) => Readonly<Record<string, HeaderDefinition>>
  /** The largest body in KB of 1,024 bytes: of the request if it has one, else of the reply. */
  payloadKilobytes?: number
  /** The largest request body in bytes, from a setting. */
  bodyBytes?: (settings: Settings) => number
  /** The largest reply body in bytes, from a setting. */
  replyBytes?: (settings: Settings) => number
  /** The latency budget in milliseconds. */
  latency?: { p95: number; p99: number }
  /** The percentage of requests that may fail, if it differs from that of other routes (lib/monitoring/request-alarms.ts). */
  errorBudgetPercent?: number
  /** An example body as it is sent, shown in the API description. */
  example?: (settings: Settings, type: BodyType) => unknown
  /** The schema of its body, for each media type. */
  body?: (settings: Settings, type: BodyType) => Body
  /** The body fields in the audit record of a denial; no secrets and no free text. */
  auditedFields?: readonly string[]
  /** The media types of its body; JSON by default. */
  bodyTypes?: (settings: Settings) => readonly BodyType[]
  /** Ignores every query parameter, Accept and X-Request-Timeout, which monitors add. */
  ignoresCallerOptions?: true
  /** The query parameters, each given at most once. Lists define theirs in `listing`. */
  query?: (settings: Settings) => v.GenericSchema<unknown, Query>
  /** For lists: the fields, filters and sorts. */
  listing?: RouteListing
  reply: {
    status: (settings: Settings) => number
    /** The status of a replay, if the deployment sets another than that of the first response. */
    replayStatus?: (settings: Settings) => number | undefined
    /** Further success statuses, without a body. */
    others?: readonly number[]
    schema: (settings: Settings) => View
    /** JSON by default; a body that is not JSON is a string. */
    mediaType?: (settings: Settings) => string
    etag?: boolean
    location?: boolean
    /** May say when to ask again. */
    retryAfter?: boolean
    /** The body is a file with a name. */
    attachment?: boolean
  }
  /** The error codes beyond those of every route. */
  errors: readonly (ErrorCode | RouteError)[]
  uses: readonly Use[]
  /** What its decision reads and writes in the table. `tableUseOf` adds what the platform does for each request. */
  table?: TableUse
  /** The impact of a failure on users, in a sentence: the text of its alarm. */
  impact: string
}

export function defineRoute<
  const Body extends v.GenericSchema = never,
  const View extends v.GenericSchema = never,
>(route: Route<Body, View>): Route<Body, View> {
  return route
}

/** Returns whether many equal denials of a route share an audit record. Those of sensitive actions never do. */
export function sumsDenials({ method, access }: Pick<Route, 'method' | 'access'>): boolean {
  return method === 'GET' && (access === 'read' || access === 'list')
}

/**
 * Returns what the failures of a route count for: itself if it has a latency budget, as its own alarm compares them with its
 * requests, or its area. Metrics and alarms of each route cost more than they tell.
 */
export function alarmGroupOf(route: Pick<Route, 'operation' | 'latency'>): string {
  return route.latency ? route.operation : areaOf(route)
}

/** Returns whether a blocked tenant may not use a route. Senders of events and monitors belong to no tenant. */
export function isForTenants({ auth, idempotency, throttle }: Route): boolean {
  return auth === 'bearer' || idempotency !== 'none' || throttle !== undefined
}

/** Returns its path in this deployment, as callers and the API description write it. */
export function pathOf({ path }: Pick<Route, 'path'>, settings: Settings): string {
  return typeof path === 'string' ? path : path(settings)
}

const verbAfterVariable = /(?<=\}):([A-Za-z]+)$/

/** Returns its path at the gateway, where a variable takes a whole segment with its verb. */
export function gatewayPathOf(route: Pick<Route, 'path'>, settings: Settings): string {
  return pathOf(route, settings).replace(verbAfterVariable, '')
}

/** Returns the verb after the last variable of a path. */
export function verbOf(path: string): string | undefined {
  return verbAfterVariable.exec(path)?.[1]
}

/** Returns the names of the variables in a path. */
export function pathVariables(path: string): string[] {
  return Array.from(path.matchAll(/\{([a-z_]+)\}/g), (match) => match[1] as string)
}

/** Returns the methods of a route at the gateway. HEAD requests the response of GET without its body. */
export function methodsOf({ method }: Pick<Route, 'method'>): string[] {
  return method === 'GET' ? ['GET', 'HEAD'] : [method]
}

/** Returns the methods of each path: `{"/v1/orders":["GET","HEAD","OPTIONS","POST"]}`. */
export function methodsByPath(routes: readonly Route[], settings: Settings): Record<string, string[]> {
  const byPath = Map.groupBy(routes, (route) => pathOf(route, settings))
  return Object.fromEntries(
    Array.from(byPath, ([path, atPath]) => [
      path,
      [...new Set([...atPath.flatMap(methodsOf), 'OPTIONS'])].sort(),
    ]),
  )
}

/** Returns the value for the path that a request names: `/codes/1:restore` is another path than `/codes/1`. */
export function atPath<Value>(path: string, byPath: Readonly<Record<string, Value>>): Value | undefined {
  const literal = (text: string) => text.replace(/[.+]/g, '\\$&')
  const names = (known: string) => new RegExp(`^${literal(known).replace(/\{[a-z_]+\}/g, '[^/:]+')}$`)
  return byPath[path] ?? Object.entries(byPath).find(([known]) => names(known).test(path))?.[1]
}

export function hasBody(route: Pick<Route, 'method'>): boolean {
  return ['POST', 'PUT', 'PATCH'].includes(route.method)
}

export function bodyTypesOf(
  { bodyTypes }: Pick<Route, 'bodyTypes'>,
  settings: Settings,
): readonly BodyType[] {
  return bodyTypes?.(settings) ?? ['application/json']
}

/**
 * The largest body of routes without a limit of their own. It holds the largest body of any such route several times, and is what
 * POST /v1/orders accepts.
 */
export const defaultBodyKilobytes = 32

/** Returns the largest request body of this route, in bytes. */
export function bodyLimitOf(route: Route, settings: Settings): number {
  if (route.bodyBytes) return route.bodyBytes(settings)
  const named = hasBody(route) ? route.payloadKilobytes : undefined
  return (named ?? defaultBodyKilobytes) * 1024
}

/** Returns whether it accepts a session cookie as a credential (setting auth.sessionOperations). */
export function takesSession(
  { auth, operation }: Pick<Route, 'auth' | 'operation'>,
  settings: Settings,
): boolean {
  return auth === 'bearer' && settings['auth.sessionOperations'].includes(operation)
}

/** Returns whether browsers of allowed origins may send and keep its cookies. */
export function usesCookies(
  route: Pick<Route, 'auth' | 'operation' | 'setsCookies'>,
  settings: Settings,
): boolean {
  return route.setsCookies === true || takesSession(route, settings)
}
