import type { AuditEntry } from '../audit/record.ts'
import type { Failure } from '../base/failure.ts'
import type { OutgoingEvent } from '../events/outbox.ts'
import type { Item } from '../table/keys.ts'
import type { Write } from '../table/table.ts'
import type { StoredResponse } from './record.ts'

/** The effects of a decision, committed together, all or nothing. */
export interface Effects<Decision = unknown> {
  writes?: Write[]
  /** Carried by the first write, published once it is committed. */
  events?: OutgoingEvent[]
  audit?: AuditEntry
  /**
   * Decides again when a write fails, from the conflicting item. An endpoint that expects to succeed need not read
   * before it writes. Without it, the request fails with the error of the write.
   */
  onConflict?: (existing: Item | undefined) => Promise<Decision>
}

/** A decision with its response in bytes. Idempotency stores and replays the bytes and knows nothing of HTTP. */
export interface RenderedDecision extends Effects<RenderedDecision> {
  response: StoredResponse
  /** The failure that the response reports, for the log. */
  failure?: Failure
}

/** What is committed before an effect outside the table. */
export interface SagaStart extends Effects<SagaStart> {
  /** The state with which the saga is executed now. */
  state: object
  /** The part of it that a pending record keeps: JSON without secrets. */
  recorded: Record<string, unknown>
}

/**
 * An effect outside the table: its start is committed with a pending idempotency record, then it is executed, then its
 * outcome is committed with the completed record. After a crash it is executed again from its state; it never starts
 * over. It takes its state and its dependencies, never a request.
 * @template Decision what is committed last
 */
export interface Saga<State, Result, Decision> {
  /**
   * `service`: the recorded state suffices, and a sweeper finishes sagas that no caller retries. `caller`: the payload
   * is needed too, so only a retry can continue.
   */
  finishedBy: 'service' | 'caller'
  /** Returns the part of the state to record; the whole state by default. The payload holds the rest. */
  recorded?(state: State): object
  /** Returns the effects that are committed first. */
  start(state: State): Effects<never>
  /** Makes the effect, or finds it already made. Repeatable. */
  execute(state: State): Promise<Result>
  /** Decides what is committed last. */
  outcome(state: State, result: Result): Decision | Promise<Decision>
}
