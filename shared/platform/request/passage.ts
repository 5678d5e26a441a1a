import type { Settings } from '../../settings/register.ts'
import type { Budget } from '../base/budget.ts'
import { type Clock, newId } from '../base/clock.ts'
import type { Correlation } from '../base/correlation.ts'
import type { Failure } from '../base/failure.ts'
import type { HttpRequest } from '../base/http.ts'
import type { Log } from '../base/log.ts'
import type { SecretName } from '../base/secrets.ts'
import type { FileStore } from '../formats/file-store.ts'
import type { Caller } from '../identity/caller.ts'
import { sourceOf } from '../identity/source.ts'
import type { TokenVerifier } from '../identity/token.ts'
import type { CursorSeal } from '../listing/cursor.ts'
import type { Table } from '../table/table.ts'
import type { Context, Endpoint } from './endpoint.ts'

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
    report: (code, error, fault) => runtime.log.report({ code, error, fault, operation, correlation }),
    clock,
    source: sourceOf(request),
    budget,
  }
}
