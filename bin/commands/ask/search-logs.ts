import type { LogRow, Logs } from '../log-query.ts'

/** A line that a function has logged. */
export interface LogLine {
  /** Milliseconds since 1970. */
  at: number
  /** The members of the line. */
  fields: Readonly<Record<string, unknown>>
}

interface LogSearch {
  /** Milliseconds since 1970. */
  from: number
  to: number
  /** Texts of which a line has at least one, as the value of a member. */
  anyOf: readonly string[]
  /** The most lines. */
  limit: number
}

/**
 * Returns the latest lines, newest first, the calls that it took, and whether these are all lines.
 * @throws Error with AWS's answer
 */
export type SearchLogs = (
  search: LogSearch,
) => Promise<{ lines: LogLine[]; calls: number; complete: boolean }>

/** The most log groups of a query (quota of StartQuery). */
const groupsAtOnce = 50
/** The most texts of a query: its expression stays short. */
const textsAtOnce = 50

/**
 * Returns a search by CloudWatch Logs Insights.
 * @param groupsOf returns the names of the log groups
 */
export function searchLogs(groupsOf: () => Promise<string[]>, logs: Logs): SearchLogs {
  let groups: Promise<string[]> | undefined
  return async ({ from, to, anyOf, limit }) => {
    groups ??= groupsOf()
    const known = await groups
    const searches = chunksOf([...new Set(anyOf)], textsAtOnce).flatMap((texts) =>
      chunksOf(known, groupsAtOnce).map((some) => ({ texts, some })),
    )
    const answers = await Promise.all(
      searches.map(({ texts, some }) => logs.query(queryOf(texts, limit), { from, to, groups: some })),
    )
    const wanted = new Set(anyOf)
    // The filter finds a text anywhere in a line, and a local AWS may ignore filters and times.
    const lines = answers
      .flat()
      .map(lineOf)
      .filter((line) => line !== undefined)
      .filter(
        ({ at, fields }) =>
          from <= at && at < to && Object.values(fields).some((one) => wanted.has(String(one))),
      )
      .toSorted((one, other) => other.at - one.at)
    const complete = answers.every((rows) => rows.length < limit) && lines.length <= limit
    return { lines: lines.slice(0, limit), calls: searches.length, complete }
  }
}

function queryOf(texts: readonly string[], limit: number): string {
  const expression = texts.map((text) => text.replace(/[^A-Za-z0-9_]/g, '\\$&')).join('|')
  return `fields @timestamp, @message | filter @message like /(${expression})/ | sort @timestamp desc | limit ${limit}`
}

/** Returns undefined for a line that is no record of the service, such as those of Lambda itself. */
function lineOf({ '@timestamp': at = '', '@message': message = '' }: LogRow): LogLine | undefined {
  try {
    const fields = JSON.parse(message)
    // Insights returns times in UTC without saying so.
    const logged = typeof fields.timestamp === 'string' ? fields.timestamp : `${at.replace(' ', 'T')}Z`
    return { at: Date.parse(logged), fields }
  } catch {
    return undefined
  }
}

function chunksOf<One>(all: readonly One[], size: number): One[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, at) =>
    all.slice(at * size, (at + 1) * size),
  )
}
