import * as v from 'valibot'
import type { Settings } from '../../settings/register.ts'
import { type Failure, fail } from '../base/failure.ts'
import type { HttpRequest } from '../base/http.ts'
import type { Decision, Revisable, Saga, SagaStart } from '../idempotency/decision.ts'
import type { ListQuery } from '../listing/list-query.ts'
import type { RequestContext, WorkContext } from './context.ts'
import type { Precondition } from './parse-headers.ts'
import { queryFlag } from './query-flag.ts'
import { methodsOf, pathOf, pathVariables, type Query, type Route, verbOf } from './route.ts'

/** What a caller sent, checked against the schemas of the route. */
export interface Input<Body = unknown> {
  params: Readonly<Record<string, string>>
  body: Body
  /** The parameters of the route's query schema. */
  query: Query
  /** The headers of the route, by the names that it defines. */
  headers: Readonly<Record<string, string | undefined>>
  /** If-Match and If-None-Match, on routes that honor them. */
  precondition: Precondition
  /** The caller's reason, on routes that require one. */
  reason: string | undefined
  /** Present on list routes only. */
  list: ListQuery | undefined
}

/** What the verification of a signature reads. */
export type SignedRequest = Pick<RequestContext, 'request' | 'secret' | 'settings' | 'now'>

/** An operation of the service: its route, its decision and, for an effect outside the table, its saga. */
export interface Endpoint<Body = unknown, State extends object = object, Result = unknown, View = unknown> {
  route: Route
  /** Decides the response with its effects, or the state with which the saga starts. It may read but never writes. */
  decide(
    input: Input<Body>,
    context: RequestContext,
  ): Decision<View> | SagaStart<State> | Promise<Decision<View> | SagaStart<State>>
  saga?(context: WorkContext): Saga<State, Result, View>
  /**
   * Verifies the signature of a request; without it, the setting webhooks.scheme does.
   * @throws AUTH.invalid_credentials
   */
  verifySender?(request: SignedRequest): Promise<void>
  /**
   * Returns the cookies of a success, as values of Set-Cookie, derived from its request and reply alone. A replay gets them too,
   * as long as the endpoint allows.
   */
  cookies?(
    success: { reply: Readonly<Record<string, unknown>>; input: Input<Body> },
    context: RequestContext,
  ): Promise<readonly string[]>
}

/** Joins a route with its behavior; `httpFunction` turns it into a function on AWS. */
export function defineEndpoint<
  Body extends v.GenericSchema,
  View extends v.GenericSchema,
  State extends object,
  Result,
>(
  route: Route<Body, View>,
  behavior: Omit<Endpoint<v.InferOutput<Body>, State, Result, NoInfer<v.InferInput<View>>>, 'route'>,
): Endpoint {
  return { route, ...behavior } as Endpoint
}

/** Takes a request that no endpoint of the function takes. It is rejected before anything else is checked. */
const unknownRoute = defineEndpoint(
  {
    operation: 'platform.unknown-route',
    method: 'GET',
    path: '',
    summary: '',
    description: '',
    auth: 'none',
    idempotency: 'none',
    reply: { status: () => 404, schema: () => v.never() },
    errors: [],
    uses: [],
    impact: '',
  },
  {
    decide() {
      throw fail('NOT_FOUND.route')
    },
  },
)

export function isKnownRoute(route: Route): boolean {
  return route !== unknownRoute.route
}

/**
 * Picks the endpoint of a request among those of a function, and sets its path variables. The gateway treats
 * `x:restore` as an id and ignores the query. An endpoint with a query condition (`when`) takes precedence.
 */
export function pickEndpoint(
  endpoints: readonly Endpoint[],
  request: HttpRequest,
  settings: Settings,
): { endpoint: Endpoint; request: HttpRequest } {
  const candidates = endpoints.flatMap((endpoint) => {
    const params = paramsFor(endpoint.route, request, settings)
    return params ? [{ endpoint, request: { ...request, params } }] : []
  })
  const picked = candidates.find(({ endpoint }) => endpoint.route.when) ?? candidates[0]
  return picked ?? { endpoint: unknownRoute, request }
}

const TrueFlag = v.pipe(
  queryFlag(),
  v.check((flag) => flag),
)

function paramsFor(
  route: Route,
  { method, params, query }: HttpRequest,
  settings: Settings,
): HttpRequest['params'] | undefined {
  if (!methodsOf(route).includes(method)) return undefined
  const { when } = route
  if (when && !query.some(([name, value]) => name === when && v.is(TrueFlag, value))) return undefined
  const path = pathOf(route, settings)
  const verb = verbOf(path)
  const last = pathVariables(path).at(-1)
  if (last === undefined) return params
  const value = params[last] ?? ''
  if (verb === undefined) return value.includes(':') ? undefined : params
  if (!value.endsWith(`:${verb}`)) return undefined
  return { ...params, [last]: value.slice(0, -verb.length - 1) }
}

type Extra<Body> = Omit<Decision<Body>, 'status' | 'body'> & { status?: number }

/** Returns an error that is committed with its effects, stored and replayed. */
export function rejection<Body>(failure: Failure, effects: Revisable<Decision<Body>> = {}): Decision<Body> {
  return { status: failure.http, failure, ...effects }
}

export function ok<Body>(body: Body, extra: Extra<Body> = {}): Decision<Body> {
  return { status: 200, body, ...extra }
}

export function noContent<Body>(extra: Extra<Body> = {}): Decision<Body> {
  return { status: 204, ...extra }
}

export function created<Body>(body: Body, extra: Extra<Body> = {}): Decision<Body> {
  return { status: 201, body, ...extra }
}
