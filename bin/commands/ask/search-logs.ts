import { readFile } from 'node:fs/promises'
import type { LogRow, Logs } from '../stack/log-query.ts'

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
/** The most texts of a query. */
const textsAtOnce = 50
/** The most characters of the expression of a query: StartQuery takes 10,000 of the whole, and the rest has fewer than 200. */
const charactersAtOnce = 7500
/** The characters of a text by which lines are searched. Each may take seven in the expression. */
const charactersOfText = 1000

/**
 * Returns a search by CloudWatch Logs Insights.
 * @param groupsOf returns the names of the log groups
 */
export function searchLogs(groupsOf: () => Promise<string[]>, logs: Logs): SearchLogs {
  let groups: Promise<string[]> | undefined
  return async ({ from, to, anyOf, limit }) => {
    groups ??= groupsOf()
    const known = await groups
    const searches = expressionsOf(anyOf).flatMap((expression) =>
      chunksOf(known, groupsAtOnce).map((some) => ({ expression, some })),
    )
    const answers = await Promise.all(
      searches.map(({ expression, some }) =>
        logs.query(queryOf(expression, limit), { from, to, groups: some }),
      ),
    )
    // The filter finds a text anywhere in a line, and a local AWS may ignore filters and times.
    const lines = latest(answers.flat().map(lineOf), { from, to, anyOf })
    const complete = answers.every((rows) => rows.length < limit) && lines.length <= limit
    return { lines: lines.slice(0, limit), calls: searches.length, complete }
  }
}

/**
 * Returns a search of the log lines that the local AWS has written to a file. Its log groups get a line only when its function is
 * called again.
 */
export function searchActivity(file: string): SearchLogs {
  return async ({ limit, ...search }) => {
    // The last one may be incomplete.
    const entries = (await readFile(file, 'utf8')).split('\n').slice(0, -1)
    const lines = latest(
      entries
        .filter((entry) => entry.startsWith('{"kind": "log"'))
        .map((entry) => {
          const { at, line } = JSON.parse(entry)
          return parsedLine(line, at)
        }),
      search,
    )
    return { lines: lines.slice(0, limit), calls: 0, complete: lines.length <= limit }
  }
}

/** Returns the lines of a time that have one of these values, the latest first. */
function latest(
  lines: readonly (LogLine | undefined)[],
  { from, to, anyOf }: Omit<LogSearch, 'limit'>,
): LogLine[] {
  const wanted = new Set(anyOf)
  return lines
    .filter((line) => line !== undefined)
    .filter(
      ({ at, fields }) =>
        from <= at && at < to && Object.values(fields).some((one) => wanted.has(String(one))),
    )
    .toSorted((one, other) => other.at - one.at)
}

/** Returns the expressions that find lines with one of these texts. A line is JSON, so it has a text as JSON has it. */
function expressionsOf(anyOf: readonly string[]): string[] {
  const expressions: string[] = []
  let texts = 0
  for (const text of new Set(anyOf)) {
    const inJson = JSON.stringify(text.slice(0, charactersOfText)).slice(1, -1)
    const one = inJson.replace(/[^A-Za-z0-9_]/gu, '\\$&')
    const last = expressions.at(-1)
    const fits = last !== undefined && texts < textsAtOnce && last.length + one.length < charactersAtOnce
    if (fits) expressions.push(`${expressions.pop()}|${one}`)
    else expressions.push(one)
    texts = fits ? texts + 1 : 1
  }
  return expressions
}

function queryOf(expression: string, limit: number): string {
  return `fields @timestamp, @message | filter @message like /(${expression})/ | sort @timestamp desc | limit ${limit}`
}

function lineOf({ '@timestamp': at = '', '@message': message = '' }: LogRow): LogLine | undefined {
  // Insights returns times in UTC without saying so.
  return parsedLine(message, Date.parse(`${at.replace(' ', 'T')}Z`))
}

/** Returns undefined for a line that the service did not log, such as those of Lambda itself. */
function parsedLine(text: string, loggedAt: number): LogLine | undefined {
  try {
    const fields = JSON.parse(text)
    return { at: typeof fields.timestamp === 'string' ? Date.parse(fields.timestamp) : loggedAt, fields }
  } catch {
    return undefined
  }
}

function chunksOf<One>(all: readonly One[], size: number): One[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, at) =>
    all.slice(at * size, (at + 1) * size),
  )
}
