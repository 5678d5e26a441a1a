import type { Failure } from '../base/failure.ts'
import type { OutgoingEvent } from '../events/outbox.ts'
import type { AuditEntry } from '../idempotency/audit-record.ts'
import type { Item } from '../table/keys.ts'
import type { Write } from '../table/table.ts'

/** The effects of a decision, committed with it, all or nothing. */
export interface Effects {
  writes?: Write[]
  /** Carried by the first write, published once it is committed. */
  events?: OutgoingEvent[]
  audit?: AuditEntry
  /**
   * Decides again when a write fails, from the conflicting item. An endpoint that expects to succeed need not read
   * before it writes. Without it, the response is the error of the write.
   */
  onConflict?: (existing: Item | undefined) => Promise<Reply>
}

/** An endpoint's decision: the response and, as data, its writes. */
export interface Reply extends Effects {
  status: number
  /** The failure of an intent, committed and therefore replayed. */
  failure?: Failure
  body?: unknown
  /** A strong entity tag, quoted. */
  etag?: string
  /** The path of the created item, as in the route table; or a URL elsewhere. */
  location?: string
  headers?: Record<string, string>
}

/**
 * A decision with an effect outside the table. It is committed first, with the idempotency record pending; then the
 * endpoint's `proceed` makes the effect and returns the outcome. A retry continues with the same `resume`.
 */
export interface Intent extends Effects {
  /** The state that `proceed` needs to continue after a crash; JSON, without secrets. */
  resume: Record<string, unknown>
  /**
   * `by_itself`: `resume` suffices, and the service finishes intents that no caller retries. Otherwise the payload is
   * also needed, and only a retry can continue.
   */
  finished?: 'by_itself'
}

type Extra = Omit<Reply, 'status' | 'body'> & { status?: number }

/** Returns an error as the outcome of an intent: it is stored with its effects and replayed. */
export function refusal(failure: Failure, effects: Effects = {}): Reply {
  return { status: failure.http, failure, ...effects }
}

export function ok(body: unknown, extra: Extra = {}): Reply {
  return { status: 200, body, ...extra }
}

export function noContent(extra: Extra = {}): Reply {
  return { status: 204, ...extra }
}

export function created(body: unknown, extra: Extra = {}): Reply {
  return { status: 201, body, ...extra }
}
