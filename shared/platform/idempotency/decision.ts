import type { Settings } from '../../settings/register.ts'
import type { AuditedAction } from '../audit/audit-record.ts'
import type { Clock } from '../base/clock.ts'
import type { Correlation } from '../base/correlation.ts'
import type { Failure } from '../base/failure.ts'
import type { OutgoingEvent } from '../events/outbox.ts'
import type { Actor } from '../identity/caller.ts'
import type { Item } from '../table/keys.ts'
import type { Table, Write } from '../table/table.ts'
import type { KeyedRequest, StoredResponse } from './idempotency-record.ts'

/** The effects of a decision, committed together, all or nothing. */
export interface Effects {
  writes?: Write[]
  /** Carried by the first write, published once it is committed. */
  events?: OutgoingEvent[]
  audit?: AuditedAction
}

/** Effects that are decided again if they conflict with another write. */
export interface Revisable<Decision> extends Effects {
  /**
   * Decides again when a write fails, from the conflicting item. An endpoint that expects to succeed need not read
   * before it writes. Without it, the request fails with the error of the write.
   */
  onConflict?: (existing: Item | undefined) => Promise<Decision>
}

/** A decision: the response and, as data, the effects that are committed with it. */
export interface Decision<Body = unknown> extends Revisable<Decision<Body>> {
  status: number
  /** The failure of a committed decision, which is stored with its effects and replayed. */
  failure?: Failure
  /** Whole: settings leave out fields when it is rendered. */
  body?: Body
  /** The entity tag; by default the strong one of the body, on routes with tags. */
  etag?: string
  /** The path of the created item, as in the route table; or a URL elsewhere. */
  location?: string
  headers?: Record<string, string>
}

/** The decision to start a saga with this state. */
export interface SagaStart<State extends object = object> {
  state: State
}

/**
 * An effect outside the table: its start is committed with a pending idempotency record, then it is executed, then its
 * outcome is committed with the completed record. After a crash it is executed again from its state; it never starts
 * over. It takes its state and its dependencies, never a request.
 */
export interface Saga<State extends object = object, Result = unknown, Body = unknown> {
  /**
   * `service`: the recorded state suffices, and a sweeper finishes sagas that no caller retries. `caller`: the payload
   * is needed too, so only a retry can continue.
   */
  finishedBy: 'service' | 'caller'
  /** Returns the part of the state to record, as JSON without secrets; the whole state by default. The payload holds the rest. */
  recorded?(state: State): object
  /** Returns the effects that are committed first. */
  start(state: State): Effects
  /** Makes the effect, or finds it already made. Repeatable. */
  execute(state: State): Promise<Result>
  /** Decides what is committed last. */
  outcome(state: State, result: Result): Decision<Body> | Promise<Decision<Body>>
}

/** A run of an operation: of a request, or of a pending saga that is finished without one. */
export interface Run {
  operation: string
  settings: Settings
  table: Table
  clock: Clock
  /** The actor in audit records that name none. */
  caller: Actor | undefined
  correlation: Correlation
  /** Decides the response, or the state with which the saga starts. */
  decide(): Promise<Decision | SagaStart>
  saga: Saga | undefined
  /** Renders the response of a decision. @throws a fault of the service if the response violates its schema */
  render(decision: Decision): StoredResponse
  /** Opens the table for writes after an effect, even if the request's time is spent. */
  tableForOutcome(): Table
  /** The request's key and payload. A run without them is neither recorded nor replayed. */
  keyed?: KeyedRequest
}

/** A run with an Idempotency-Key. */
export type KeyedRun = Required<Run>
