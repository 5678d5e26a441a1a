import type * as v from 'valibot'
import type { ErrorCode } from '../../error-catalog.ts'
import type { Settings } from '../../settings/register.ts'
import type { Budget } from '../base/budget.ts'
import type { Clock } from '../base/clock.ts'
import type { HttpRequest } from '../base/http.ts'
import type { LogCode } from '../base/log.ts'
import type { SecretName } from '../base/secrets.ts'
import type { FileStore } from '../formats/file-store.ts'
import type { Committer } from '../idempotency/commit.ts'
import type { Scope } from '../identity/authorize.ts'
import type { Caller } from '../identity/caller.ts'
import type { CursorSeal } from '../listing/cursor.ts'
import type { ListQuery } from '../listing/list-query.ts'
import type { Table } from '../table/table.ts'
import type { Intent, Reply } from './reply.ts'
import { pathOf, pathVariables, type Route, verbOf } from './route.ts'

/** A request that passed every check of the platform. */
export interface Checked<Body> {
  params: Readonly<Record<string, string>>
  body: Body
  /** The parameters of the route's query schema. */
  query: Readonly<Record<string, string | undefined>>
  /** Names in lower case. The route lists those that decide what a request does in `payloadHeaders`. */
  headers: Readonly<Record<string, string>>
  /** If-Match, on routes that honor it. */
  ifMatch: string | undefined
  /** The caller's reason, on routes that require one. */
  reason: string | undefined
  /** Present on list routes only. */
  list: ListQuery | undefined
  /** Absent on routes without authentication. */
  caller: Caller | undefined
  scope: Scope
}

/** The dependencies of an endpoint. Time and ids are passed in, so a decision is a function of its input. */
export interface Context {
  settings: Settings
  table: Table
  /** Milliseconds since 1970. */
  now(): number
  newId(): string
  sleep(milliseconds: number): Promise<void>
  /** Created at its first use, because it needs the deployment's secret. */
  cursorSeal(): Promise<CursorSeal>
  /** Returns the deployment's key for one purpose; only for endpoints whose route uses its secret. */
  derivedKey(purpose: string): Promise<Uint8Array>
  /** Available only to functions that are created with files. */
  files(): FileStore
  /** Available only to endpoints whose route uses the secret. */
  secret(name: SecretName): Promise<string>
  /**
   * Logs an event that the response does not show: an error hidden from the caller, or the fault behind one of many
   * results.
   */
  report(code: LogCode, error: ErrorCode, fault?: unknown): void
  clock: Clock
  /** The network of the caller (see `sourceOf`); for hashing, never stored or logged. */
  source: string
  /** The remaining time of the request, for calls of other services. */
  budget: Budget
  /** For endpoints with many commits, such as one for each row of a batch. */
  committer: Committer
}

export interface Endpoint<Body extends v.GenericSchema = v.GenericSchema> {
  route: Route<Body>
  /** Decides. It may read but never writes. */
  perform(request: Checked<v.InferOutput<Body>>, context: Context): Promise<Reply | Intent>
  /**
   * Carries out an Intent, or finds its effect already made: it may run again after a crash, with the same `resume`
   * and a request of the same payload.
   */
  proceed?(
    resume: Record<string, unknown>,
    request: Checked<v.InferOutput<Body>>,
    context: Context,
  ): Promise<Reply>
  /**
   * Returns the cookies of a success, as values of Set-Cookie, derived from its body alone. A replay gets them too,
   * as long as the endpoint allows.
   */
  cookies?(body: Readonly<Record<string, unknown>>, context: Context): Promise<readonly string[]>
}

/** The type of the `perform` function of a route. */
export type PerformOf<R extends Route> =
  R extends Route<infer Body>
    ? (request: Checked<v.InferOutput<Body>>, context: Context) => Promise<Reply>
    : never

/** Joins a route with its decision (see `Route` and `Reply`); `lambda` turns it into a function on AWS. */
export function defineEndpoint<Body extends v.GenericSchema>(
  route: Route<Body>,
  behaviour: Omit<Endpoint<Body>, 'route'>,
): Endpoint<Body> {
  return { route, ...behaviour }
}

/** An endpoint, and the request with the endpoint's path variables. */
export interface Picked {
  endpoint: Endpoint
  request: HttpRequest
}

/**
 * Picks the endpoint of a request among those that share one gateway method. The gateway treats `x:restore` as an id
 * and ignores the query. An endpoint with a query condition (`when`) takes precedence.
 */
export function pickEndpoint(
  endpoints: readonly Endpoint[],
  request: HttpRequest,
  settings: Settings,
): Picked | undefined {
  const suited = endpoints.flatMap((endpoint) => {
    const params = paramsFor(endpoint, request, settings)
    return params ? [{ endpoint, request: { ...request, params } }] : []
  })
  return suited.find(({ endpoint }) => endpoint.route.when) ?? suited[0]
}

function paramsFor(
  { route }: Endpoint,
  { params, query }: HttpRequest,
  settings: Settings,
): HttpRequest['params'] | undefined {
  const { when } = route
  if (when && !query.some(([name, value]) => name === when.parameter && value === when.value))
    return undefined
  const path = pathOf(route, settings)
  const verb = verbOf(path)
  const last = pathVariables(path).at(-1)
  if (verb === undefined || last === undefined) return params
  const value = params[last] ?? ''
  if (!value.endsWith(`:${verb}`)) return undefined
  return { ...params, [last]: value.slice(0, -verb.length - 1) }
}
