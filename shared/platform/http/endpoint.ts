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
  notice(code: LogCode, error: ErrorCode, fault?: unknown): void
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
