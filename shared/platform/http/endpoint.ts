import type * as v from 'valibot'
import type { Settings } from '../../settings/register.ts'
import type { Scope } from '../auth/authorise.ts'
import type { Caller } from '../auth/caller.ts'
import type { CursorSeal } from '../listing/cursor.ts'
import type { ListQuery } from '../listing/list-query.ts'
import type { Table } from '../table/table.ts'
import type { Intent, Reply } from './reply.ts'
import type { Route } from './route.ts'

/** A request that passed every check of the platform. */
export interface Checked<Body> {
  params: Readonly<Record<string, string>>
  body: Body
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
}

export interface Endpoint<Body extends v.GenericSchema = v.GenericSchema> {
  route: Route<Body>
  /** Decides. It may read and it never writes. */
  perform(request: Checked<v.InferOutput<Body>>, context: Context): Promise<Reply | Intent>
  /** Makes the effect of an Intent, or finds it made: it may run again after a crash with the same `resume`. */
  proceed?(resume: Record<string, unknown>, context: Context): Promise<Reply>
}

/** Joins a route with its decision (see `Route` and `Reply`); `lambda` makes it a function on AWS. */
export function defineEndpoint<Body extends v.GenericSchema>(
  route: Route<Body>,
  behaviour: Omit<Endpoint<Body>, 'route'>,
): Endpoint<Body> {
  return { route, ...behaviour }
}
