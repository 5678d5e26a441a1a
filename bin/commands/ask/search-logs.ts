/** A line that a function has logged. */
export interface LogLine {
  /** Milliseconds since 1970. */
  at: number
  /** The name of its log group. */
  group: string
  /** The members of the line. */
  fields: Readonly<Record<string, unknown>>
}

export interface LogSearch {
  /** Milliseconds since 1970. */
  from: number
  to: number
  /** Texts of which a line has at least one, as the value of any member. */
  anyOf: readonly string[]
  limit: number
}

/** Returns the latest lines first, and whether these are all. @throws Error with AWS's answer */
export type SearchLogs = (
  search: LogSearch,
) => Promise<{ lines: LogLine[]; calls: number; complete: boolean }>

/** Returns a search of CloudWatch Logs Insights over the log groups of a stack. */
export function searchLogs(_stack: string, _access: object): SearchLogs {
  return async () => ({ lines: [], calls: 0, complete: true })
}
