import type { AuditEntry } from '../audit/audit-record.ts'
import type { Failure } from '../errors/failure.ts'
import type { OutgoingEvent } from '../events/outbox.ts'
import type { Item } from '../table/keys.ts'
import type { Write } from '../table/writes.ts'

/** What belongs to a decision and is committed with it, all or nothing. */
export interface Effects {
  writes?: Write[]
  /** Carried by the first write, published once it is committed. */
  events?: OutgoingEvent[]
  audit?: AuditEntry
  /**
   * Decides anew when a write is refused, from what stood in its way: an endpoint that expects to be right the first
   * time need not read before it writes. Without it, the answer is the error of the write.
   */
  refused?: (existing: Item | undefined) => Promise<Reply>
}

/** An endpoint's decision: the answer and, as data, what must be written for it to be true. */
export interface Reply extends Effects {
  status: number
  /** Where the answer is an error that is committed, and so replayed: what an intent came to. */
  failure?: Failure
  body?: unknown
  /** A strong entity tag, quoted. */
  etag?: string
  /** The path of what was made, as in the route table; or an address elsewhere. */
  location?: string
  headers?: Record<string, string>
}

/**
 * A decision that needs an effect outside the table: committed first, with the idempotency record pending; then
 * the endpoint's `proceed` makes the effect and returns the outcome. A retry resumes with the same `resume`.
 */
export interface Intent extends Effects {
  /** Everything that `proceed` needs to go on after a crash; JSON, without secrets. */
  resume: Record<string, unknown>
  /**
   * `by_itself`: `resume` is all that is needed, and the service finishes what no retry comes for. Otherwise the
   * payload is needed, too, and only a retry can go on with it.
   */
  finished?: 'by_itself'
}

type Extra = Omit<Reply, 'status' | 'body'> & { status?: number }

/** An error as the outcome of an intent: it is stored, with what is written along, and replayed. */
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
