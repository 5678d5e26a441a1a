import type { KeyObject } from 'node:crypto'
import type { ErrorCode } from '../../error-catalog.ts'
import type { Settings } from '../../settings/register.ts'
import type { Remember } from '../base/cached-load.ts'
import { type Budget, type Clock, newId, startBudget } from '../base/clock.ts'
import type { Correlation } from '../base/correlation.ts'
import type { HttpRequest } from '../base/http.ts'
import type { Log, LogCode } from '../base/log.ts'
import type { KeyName, SecretName, VersionedKey } from '../base/secrets.ts'
import { noUnits, type Units } from '../base/units.ts'
import type { FileStore } from '../formats/file-store.ts'
import type { TenantScope } from '../identity/authorize.ts'
import type { BlockCheck } from '../identity/blocked-tenants.ts'
import type { Caller } from '../identity/caller.ts'
import type { TokenVerifier } from '../identity/token.ts'
import type { Key } from '../table/keys.ts'
import type { Criticality, Table } from '../table/table.ts'
import type { Route } from './route.ts'

/** The dependencies that all invocations of a function share. */
export interface Runtime {
  settings: Settings
  clock: Clock
  log: Log
  tokens: TokenVerifier
  /**
   * @param criticality `critical` if absent
   * @param units receives what the calls consume
   */
  openTable(budget: Budget, criticality?: Criticality, units?: Units): Table
  openFiles(budget: Budget): FileStore
  secret(name: SecretName, budget: Budget, options?: { renew?: boolean }): Promise<string>
  isBlocked: BlockCheck
  /** Loads a value once in half a minute for all work of the process. */
  remember: Remember
  /** Returns a key of the deployment. */
  derivedKey(name: KeyName, budget: Budget): Promise<KeyObject>
  /**
   * Returns a key whose ciphertexts outlive a rotation of its secret. They name the version.
   * @param version the current one if absent
   */
  versionedKey(name: KeyName, budget: Budget, version?: string): Promise<VersionedKey>
  /** Returns the name or address of a resource that the stack passes to the function. */
  environment(name: string): string | undefined
}

/**
 * The dependencies of one unit of work: a request, a queued message, a sweep. Time and ids are passed in, so a decision
 * is a function of its input.
 */
export interface WorkContext {
  settings: Settings
  /** Opened at its first use, because some functions have none. */
  readonly table: Table
  clock: Clock
  log: Log
  /** The remaining time, for calls of other services. */
  budget: Budget
  /** What the calls of the table have consumed. */
  units: Units
  correlation: Correlation
  /** The caller of a request, known after authentication. Other work has none. */
  caller: Caller | undefined
  /** Milliseconds since 1970. */
  now(): number
  /** Returns a new id. That of a request is in one of the shards of its tenant, unless their number is given. */
  newId(shards?: number): string
  sleep(milliseconds: number): Promise<void>
  isBlocked: BlockCheck
  /** As in `Runtime`. */
  remember: Remember
  /** Returns a key of the deployment; only for functions with its secret. */
  derivedKey(name: KeyName): Promise<KeyObject>
  /** As in `Runtime`; only for functions with the secret of the key. */
  versionedKey(name: KeyName, version?: string): Promise<VersionedKey>
  /** Available only to functions that are created with files. */
  files(): FileStore
  /** Available only to functions with the secret. `renew` reads it again, at most every 30 seconds. */
  secret(name: SecretName, options?: { renew?: boolean }): Promise<string>
  environment(name: string): string | undefined
  /** Logs what no response shows: an error hidden from the caller, or the fault behind one of many results. */
  report(code: LogCode, error: ErrorCode, fault?: unknown): void
  /** Opens the table with a separate time limit, in milliseconds. Its calls are critical. */
  tableWithin(milliseconds: number): Table
}

/** One request. Each step extends it by a copy; no step changes it. */
export interface RequestContext extends WorkContext {
  route: Route
  request: HttpRequest
  /** Milliseconds since 1970. */
  startedAt: number
  /** The network of the caller; for hashing, never stored or logged as it is. */
  source: string
  /** Returns the caller of an Authorization header. @throws AUTH.*, DEPENDENCY.* */
  verifyToken(authorization: string | undefined, nonce: string | undefined): Promise<Caller>
  /** Known after authorization; the public tenant before. */
  scope: TenantScope
  /** The key of its idempotency record, known with its input; undefined without an Idempotency-Key. The name of a refund's request derives from it. */
  recordKey: Key | undefined
}

/** Opens the dependencies of one unit of work. */
export function openWork(
  runtime: Runtime,
  {
    operation,
    correlation,
    milliseconds,
    criticality = 'critical',
  }: { operation: string; correlation: Correlation; milliseconds: number; criticality?: Criticality },
): WorkContext {
  const { settings, clock, log } = runtime
  const budget = startBudget(clock, milliseconds)
  const units = noUnits()
  let table: Table | undefined
  return {
    settings,
    get table() {
      table ??= runtime.openTable(budget, criticality, units)
      return table
    },
    clock,
    log,
    budget,
    units,
    correlation,
    caller: undefined,
    now: () => clock.now(),
    newId: (shards) => newId(clock, shards),
    sleep: (pause) => clock.sleep(pause),
    isBlocked: runtime.isBlocked,
    remember: runtime.remember,
    derivedKey: (name) => runtime.derivedKey(name, budget),
    versionedKey: (name, version) => runtime.versionedKey(name, budget, version),
    files: () => runtime.openFiles(budget),
    secret: (name, options) => runtime.secret(name, budget, options),
    environment: (name) => runtime.environment(name),
    report: (code, error, fault) => log.report({ code, error, fault, operation, correlation }),
    tableWithin: (limit) => runtime.openTable(startBudget(clock, limit), 'critical', units),
  }
}
