import type { Activity, ConsoleEntry } from './activity.ts'

/** What the console asks for: the entries of a kind in a time range, newest first, that match all filters. */
export interface Question {
  kind: string
  /** Milliseconds since 1970, inclusive; absent for all that there is. */
  from?: number | undefined
  /** Milliseconds since 1970, exclusive; absent for now. */
  to?: number | undefined
  tenant?: string | undefined
  status?: string | undefined
  actor?: string | undefined
  action?: string | undefined
  /** The target of an audit record, the subscriber of a delivery, or the charge of a refund. */
  target?: string | undefined
  /** An error code. */
  code?: string | undefined
  /** A correlation id. */
  correlation?: string | undefined
  /** That of an earlier answer, which this one continues. */
  cursor?: string | undefined
}

/** What was read, and what that took. */
export interface Reading {
  entries: ConsoleEntry[]
  /** Whether nothing of the range is abandoned. */
  complete: boolean
  /** Why the logs were not searched, in a reading that has more than logs. */
  logs_failed?: string | undefined
  /** Continues a reading that is not complete. A sample without a cursor cannot be continued. */
  cursor?: string | undefined
  /** The read units of the table. */
  units: number
  /** The calls of other services. */
  calls: number
}

/** A deployment as the console sees it. */
export interface Source {
  /** The name of the stack; undefined for the local run. */
  stack?: string | undefined
  /** The kinds that can be read: true if without a tenant, too. */
  readable: Readonly<Record<string, 'always' | 'with a tenant'>>
  /** @param abandoned aborts when nobody waits for the answer */
  read(question: Question, abandoned?: AbortSignal): Promise<Reading>
  /** Finds everything about one thing: an id, a correlation id, a charge, the text of a code. */
  find(
    what: string,
    range: Pick<Question, 'from' | 'to' | 'tenant'>,
    abandoned?: AbortSignal,
  ): Promise<Reading>
  /** What happens, as it happens. Only the local run has it. */
  live?: Activity | undefined
  /** What the buttons of the page do, by name. Only the local run has them: a stage is only read. */
  actions: Readonly<Record<string, (body: string) => Promise<unknown>>>
}
