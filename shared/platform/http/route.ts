import type * as v from 'valibot'
import type { Settings } from '../../settings/register.ts'
import type { Access } from '../auth/matrix.ts'
import type { ErrorCode } from '../errors/catalogue.ts'
import type { RateLimit } from '../limits/rate-limit.ts'
import type { Listing } from '../listing/listing.ts'

/** What a function may do; its rights on AWS come from these and from nothing else. */
export type Use =
  | 'table.read'
  | 'table.find'
  | 'table.write'
  | 'table.update'
  | 'table.insert'
  | 'table.delete'
  | 'secret.read'
  | 'secret.payments'
  | 'secret.webhooks'
  | 'files.write'
  | 'files.link'
  | 'pool.client'
  | 'pool.login'
  | 'imports.write'
  | 'imports.read'
  | 'rejects.write'
  | 'rejects.read'

/** How often an operation may be called, and who counts as the same caller. */
export interface Throttle extends RateLimit {
  /** `source` is the network that the request came from, `body.email` a field of the parsed body. */
  by: readonly ('source' | `body.${string}`)[]
  /** Routes with the same name share one counter; without it each operation has its own. */
  shared?: string
  /** Counts failed requests only. */
  failuresOnly?: true
}

/** What a body may be sent as. A text body comes as a string. */
export type BodyType = 'application/json' | 'text/csv'

/** One operation of the service as data: read by its handler, the infrastructure, the API description and the tests. */
export interface Route<Body extends v.GenericSchema = v.GenericSchema> {
  /** `<area>.<verb>`: its name in settings and logs. */
  operation: string
  /** What the audit calls it; its operation unless the contract has a word for it. */
  action?: string
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Variables are whole segments, the last with a verb after it perhaps: `/codes/{id}:restore`. */
  path: string | ((settings: Settings) => string)
  /** Tells it from a route of the same method and path: this query parameter has this value. */
  when?: { parameter: string; value: string }
  summary: string
  description: string
  /** `signature`: an HMAC over the body, as the setting webhooks.scheme says. */
  auth: 'bearer' | 'signature' | 'none'
  /** The row of the role matrix; every bearer route has one. */
  access?: Access
  /** The token scope that the contract names. Others come from the setting auth.scopes. */
  scope?: string
  /** `required` where the contract's section names the key; `accepted` elsewhere unless a deployment requires it. */
  idempotency: 'required' | 'accepted' | 'none'
  /** Its body holds what nobody may find out from an idempotency record, not even by trying: a password, a code. */
  confidential?: true
  /** Sets cookies, so that browsers may call it with credentials. */
  setsCookies?: true
  /** Where the contract names a limit for it; others come from the setting limits.other. */
  throttle?: (settings: Settings) => readonly Throttle[]
  /** Whether it needs If-Match, or honors one that is sent. */
  ifMatch?: 'required' | 'accepted'
  /** The header that carries the reason for the audit, and its longest value in characters. */
  reason?: (settings: Settings) => { header: string; maxLength: number }
  /** Headers that decide what a request does, as its body does: another value is another payload for a key. */
  payloadHeaders?: (settings: Settings) => readonly string[]
  /** Largest body in KB of 1,024 bytes (contract, 'Limits'): of the request where it has one, else of the reply. */
  payloadKilobytes?: number
  /** Largest body of the request in bytes, where a deployment decides it. */
  bodyBytes?: (settings: Settings) => number
  /** Largest body of the reply in bytes, where a deployment decides it. */
  replyBytes?: (settings: Settings) => number
  /** Latency budget in milliseconds (contract, 'Limits'). */
  latency?: { p95: number; p99: number }
  /** The percentage of requests that may fail, where it differs from that of other routes (lib/route-alarms.ts). */
  errorBudgetPercent?: number
  /** A body to begin with, as it is sent: shown in the API description, where it can be tried. */
  example?: (settings: Settings, type: BodyType) => unknown
  /** The schema of its body, for each of its types. */
  body?: (settings: Settings, type: BodyType) => Body
  /** The fields of its body that the audit record of a denial shows, without secrets and free text. */
  auditedFields?: readonly string[]
  /** What its body may be sent as; JSON unless it says otherwise. */
  bodyTypes?: (settings: Settings) => readonly BodyType[]
  /** The query parameters, each a string that is given at most once. Lists have theirs from `listing`. */
  query?: (settings: Settings) => v.GenericSchema<unknown, Readonly<Record<string, string | undefined>>>
  /** For lists: the fields, filters and sorts. */
  listing?: Listing
  reply: {
    status: (settings: Settings) => number
    /** The status of a replay, where a deployment wants another than that of the first answer. */
    replayStatus?: (settings: Settings) => number | undefined
    /** Further statuses that it may answer with on success, without a body. */
    others?: readonly number[]
    schema: (settings: Settings) => v.GenericSchema
    /** JSON unless it says otherwise; a body that is not JSON is a string. */
    mediaType?: (settings: Settings) => string
    etag?: boolean
    location?: boolean
  }
  /** Codes beyond those that every route may answer with. */
  errors: readonly ErrorCode[]
  /** The settings that shape the request or the reply, shown as x-open-point. */
  openPoints: readonly (keyof Settings)[]
  uses: readonly Use[]
  /** What people lose when this function fails, in a sentence: the text of its alarm. */
  breaks: string
}

export function defineRoute<const Body extends v.GenericSchema = never>(route: Route<Body>): Route<Body> {
  return route
}

/** Its path in this deployment, as callers and the API description write it. */
export function pathOf({ path }: Pick<Route, 'path'>, settings: Settings): string {
  return typeof path === 'string' ? path : path(settings)
}

const verbAfterVariable = /(?<=\}):([A-Za-z]+)$/

/** Its path as the gateway knows it: there a variable takes a whole segment, its verb included. */
export function gatewayPathOf(route: Pick<Route, 'path'>, settings: Settings): string {
  return pathOf(route, settings).replace(verbAfterVariable, '')
}

/** The verb that follows the last variable of a path. */
export function verbOf(path: string): string | undefined {
  return verbAfterVariable.exec(path)?.[1]
}

/** The names of the variables in a path. */
export function pathVariables(path: string): string[] {
  return Array.from(path.matchAll(/\{([a-z_]+)\}/g), (match) => match[1] as string)
}

export function hasBody(route: Pick<Route, 'method'>): boolean {
  return route.method === 'POST' || route.method === 'PATCH'
}

export function bodyTypesOf(
  { bodyTypes }: Pick<Route, 'bodyTypes'>,
  settings: Settings,
): readonly BodyType[] {
  return bodyTypes?.(settings) ?? ['application/json']
}

/** The largest body that a request of this route may have, in bytes. */
export function bodyLimitOf(route: Route, settings: Settings): number {
  if (route.bodyBytes) return route.bodyBytes(settings)
  const named = hasBody(route) ? route.payloadKilobytes : undefined
  return (named ?? settings['limits.defaultBodyKilobytes']) * 1024
}

/** Whether a session's cookie is a credential for it (setting auth.sessionOperations). */
export function takesSession(
  { auth, operation }: Pick<Route, 'auth' | 'operation'>,
  settings: Settings,
): boolean {
  return auth === 'bearer' && settings['auth.sessionOperations'].includes(operation)
}

/** Whether browsers of allowed origins may send and keep cookies with it. */
export function usesCookies(
  route: Pick<Route, 'auth' | 'operation' | 'setsCookies'>,
  settings: Settings,
): boolean {
  return route.setsCookies === true || takesSession(route, settings)
}
