import type { AuditEntry } from '../audit/audit-record.ts'
import type { OutgoingEvent } from '../events/outbox.ts'
import type { Write } from '../table/writes.ts'

/** What belongs to a decision and is committed with it, all or nothing. */
export interface Effects {
  writes?: Write[]
  /** Carried by the first write, published once it is committed. */
  events?: OutgoingEvent[]
  audit?: AuditEntry
}

/** An endpoint's decision: the answer and, as data, what must be written for it to be true. */
export interface Reply extends Effects {
  status: number
  body?: unknown
  /** A strong entity tag, quoted. */
  etag?: string
  /** The path of what was made, as in the route table. */
  location?: string
}

/**
 * A decision that needs an effect outside the table: committed first, with the idempotency record pending; then
 * the endpoint's `proceed` makes the effect and returns the outcome. A retry resumes with the same `resume`.
 */
export interface Intent extends Effects {
  /** Everything that `proceed` needs to go on after a crash; JSON, without secrets. */
  resume: Record<string, unknown>
}

type Extra = Omit<Reply, 'status' | 'body'>

export function ok(body: unknown, extra: Extra = {}): Reply {
  return { status: 200, body, ...extra }
}

export function created(body: unknown, extra: Extra & { status?: number } = {}): Reply {
  return { status: 201, body, ...extra }
}
