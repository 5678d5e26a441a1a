import type { Settings } from '../../settings/register.ts'
import type { Caller } from '../auth/caller.ts'
import type { TokenVerifier } from '../auth/verify-token.ts'
import { type Clock, newId } from '../clock.ts'
import type { Failure } from '../errors/failure.ts'
import type { FileStore } from '../files/file-store.ts'
import type { Budget } from '../limits/budget.ts'
import { sourceOf } from '../limits/source.ts'
import type { CursorSeal } from '../listing/cursor.ts'
import type { Log } from '../logging/log.ts'
import type { SecretName } from '../secrets/secret.ts'
import type { Table } from '../table/table.ts'
import type { Correlation } from './correlation.ts'
import type { Context, Endpoint } from './endpoint.ts'
import type { HttpRequest } from './request.ts'

/** The dependencies that all requests share. */
export interface Runtime {
  settings: Settings
  clock: Clock
  log: Log
  tokens: TokenVerifier
  openTable(budget: Budget): Table
  openFiles(budget: Budget): FileStore
  secret(name: SecretName, budget: Budget): Promise<string>
  /** Created at its first use, because it needs the deployment's secret. */
  cursorSeal(budget: Budget): Promise<CursorSeal>
  /** Returns the deployment's key for one purpose. */
  derivedKey(purpose: string, budget: Budget): Promise<Uint8Array>
}

/** The state of one request while it is processed. */
export interface Passage {
  endpoint: Endpoint
  request: HttpRequest
  runtime: Runtime
  clock: Clock
  settings: Settings
  correlation: Correlation
  budget: Budget
  table: Table
  caller: Caller | undefined
  /** The failure that was stored, for the log. */
  fault?: Failure
}

/** Returns the context of the endpoint. */
export function contextOf(passage: Passage): Context {
  const { endpoint, request, runtime, table, settings, clock, correlation, budget } = passage
  const { operation } = endpoint.route
  return {
    committer: passage,
    settings,
    table,
    now: () => clock.now(),
    newId: () => newId(clock),
    sleep: (milliseconds) => clock.sleep(milliseconds),
    cursorSeal: () => runtime.cursorSeal(budget),
    derivedKey: (purpose) => runtime.derivedKey(purpose, budget),
    files: () => runtime.openFiles(budget),
    secret: (name) => runtime.secret(name, budget),
    notice: (code, error, fault) => runtime.log.noticed({ code, error, fault, operation, correlation }),
    clock,
    source: sourceOf(request),
    budget,
  }
}
