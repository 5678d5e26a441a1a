import type { Units } from '#shared/platform/base/units.ts'
import type { Reach } from './reach.ts'

/** What a list of deliveries takes as a status besides the states: an attempt has failed, whatever came after it. */
export const failedAttempt = 'failed-attempt'

/** What a list is asked for. Each list takes the filters that its lines have. */
export interface LineQuery {
  /** Without it, a list shows what waits or has failed in any tenant. Audit and ledger require one. */
  tenant?: string | undefined
  /** Milliseconds since 1970, inclusive. */
  from?: number | undefined
  /** Milliseconds since 1970, exclusive. */
  to?: number | undefined
  /** A principal or the subject of a credential; `api-key:ID` names an API key. */
  actor?: string | undefined
  action?: string | undefined
  /** Of an audit record, such as `code/ID`; the charge of a refund, the subscriber of a delivery, the queue of a dead letter. */
  target?: string | undefined
  /** Of a refund; the state of a delivery or an operation, or `failed-attempt` of a delivery; the kind of a ledger entry. */
  status?: string | undefined
  /** Of an audit record. */
  result?: 'allow' | 'deny' | undefined
  correlationId?: string | undefined
  /** The most lines of an answer. */
  limit: number
  /** That of an earlier answer, which this one continues. */
  cursor?: string | undefined
}

/** The answer of a list: lines, the latest first. */
export interface LineAnswer<Line> {
  lines: Line[]
  /** What the table charged. */
  units: Units
  /** Whether nothing of the range is left. */
  complete: boolean
  /** Continues an answer that is not complete. */
  cursor: string | undefined
}

/** A list that operators ask. An answer may have fewer lines than its limit although more are left: `cursor` says so. */
export type ReadLines<Line> = (reach: Reach, query: LineQuery) => Promise<LineAnswer<Line>>
