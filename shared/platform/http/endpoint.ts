import type * as v from 'valibot'
import type { Settings } from '../../settings/register.ts'
import type { Scope } from '../auth/authorise.ts'
import type { Caller } from '../auth/caller.ts'
import type { Clock } from '../clock.ts'
import type { ErrorCode } from '../errors/catalogue.ts'
import type { FileStore } from '../files/file-store.ts'
import type { Committer } from '../idempotency/commit.ts'
import type { Budget } from '../limits/budget.ts'
import type { CursorSeal } from '../listing/cursor.ts'
import type { ListQuery } from '../listing/list-query.ts'
import type { LogCode } from '../logging/log.ts'
import type { SecretName } from '../secrets/secret.ts'
import type { Table } from '../table/table.ts'
import type { Intent, Reply } from './reply.ts'
import type { Route } from './route.ts'

/** A request that passed every check of the platform. */
export interface Checked<Body> {
  params: Readonly<Record<string, string>>
  body: Body
  /** The parameters of the route's query schema. */
  query: Readonly<Record<string, string | undefined>>
  /** Names in lower case. Those that decide what a request does are named by `payloadHeaders` of its route. */
  headers: Readonly<Record<string, string>>
  /** If-Match, of routes that honor it. */
  ifMatch: string | undefined
  /** The caller's reason, of routes that need one. */
  reason: string | undefined
  /** Of lists only. */
  list: ListQuery | undefined
  /** Absent on routes without authentication. */
  caller: Caller | undefined
  scope: Scope
}

/** What an endpoint may use. Time and ids are passed in, so that a rule is a function of its input. */
export interface Context {
  settings: Settings
  table: Table
  /** Milliseconds since 1970. */
  now(): number
  newId(): string
  sleep(milliseconds: number): Promise<void>
  /** Made at its first use, as it needs the deployment's secret. */
  cursorSeal(): Promise<CursorSeal>
  /** The key of this deployment for one purpose; of endpoints whose route says that they use its secret. */
  derivedKey(purpose: string): Promise<Uint8Array>
  /** Of endpoints whose function was given one. */
  files(): FileStore
  /** Of endpoints whose route says that they use it. */
  secret(name: SecretName): Promise<string>
  /** Logs what the answer does not show: an error that was none to the caller, or the fault behind one of many results. */
  notice(code: LogCode, error: ErrorCode, fault?: unknown): void
  clock: Clock
  /** The network that the request came from (see `sourceOf`); for hashing, never stored or logged. */
  source: string
  /** What the request may still take, for calls of other services. */
  budget: Budget
  /** For effects that are many commits: each row of a batch is one of its own. */
  committer: Committer
}

export interface Endpoint<Body extends v.GenericSchema = v.GenericSchema> {
  route: Route<Body>
  /** Decides. It may read and it never writes. */
  perform(request: Checked<v.InferOutput<Body>>, context: Context): Promise<Reply | Intent>
  /**
   * Makes the effect of an Intent, or finds it made: it may run again after a crash, with the same `resume` and a
   * request of the same payload.
   */
  proceed?(
    resume: Record<string, unknown>,
    request: Checked<v.InferOutput<Body>>,
    context: Context,
  ): Promise<Reply>
  /**
   * The cookies that go with a success, as values of Set-Cookie, made from its body alone: a replay is given them too, as
   * long as the endpoint thinks right.
   */
  cookies?(body: Readonly<Record<string, unknown>>, context: Context): Promise<readonly string[]>
}

/** What decides the requests of a route, typed by it. */
export type PerformOf<R extends Route> =
  R extends Route<infer Body>
    ? (request: Checked<v.InferOutput<Body>>, context: Context) => Promise<Reply>
    : never

/** Joins a route with its decision (see `Route` and `Reply`); `lambda` makes it a function on AWS. */
export function defineEndpoint<Body extends v.GenericSchema>(
  route: Route<Body>,
  behaviour: Omit<Endpoint<Body>, 'route'>,
): Endpoint<Body> {
  return { route, ...behaviour }
}
