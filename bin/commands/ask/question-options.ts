import { InvalidArgumentError, Option } from '@commander-js/extra-typings'
import { parseTenant, parseTime, parseWholeNumber, stackOf, UsageError } from '../../cli/options.ts'
import { printRows } from '../../cli/output.ts'
import type { LineAnswer, LineQuery, ReadLines } from './query.ts'
import type { Reach } from './reach.ts'

const unitSeconds: Readonly<Record<string, number>> = { m: 60, h: 3600, d: 24 * 3600 }

/** @throws InvalidArgumentError for anything but a time in UTC, or a duration such as 90m, 24h or 7d, which is so long ago */
function parseTimeOrAgo(text: string): Date {
  const [, count, unit = ''] = /^(\d{1,5})([mhd])$/.exec(text) ?? []
  if (count !== undefined) return new Date(Date.now() - Number(count) * (unitSeconds[unit] ?? 0) * 1000)
  try {
    return parseTime(text)
  } catch {
    throw new InvalidArgumentError(
      'It takes a time in UTC, such as 2026-01-31T12:00:00Z, or 90m, 24h or 7d ago.',
    )
  }
}

export const from = new Option(
  '--from <time>',
  'from this time on, such as 2026-01-30T12:00:00Z, 90m or 7d',
).argParser(parseTimeOrAgo)
export const to = new Option('--to <time>', 'before this time').argParser(parseTimeOrAgo)
export const anyTenant = new Option('--tenant <name>', 'the tenant').argParser(parseTenant)
export const verbose = new Option('--verbose', 'print what the table charged')
export const correlationId = new Option('--correlation-id <id>', 'only of this correlation id')
export const limit = new Option('--limit <number>', 'the most lines').argParser(parseLimit).default(100)

/** What the options of a question give. */
interface QuestionOptions {
  from?: Date | undefined
  to?: Date | undefined
  limit: number
  verbose?: true | undefined
  stack?: string | undefined
}

/** What a list prints. */
interface Printed<Line> {
  /** The fields of the table on a terminal. */
  columns: string[]
  /** Returns what is printed of lines, and the read units that it took. */
  complete?: (lines: Line[], reach: Reach) => Promise<{ lines: object[]; units: number }>
}

/**
 * Asks a list, and prints its lines, the latest first. It says on standard error if there are older ones, and what the table
 * charged.
 */
export async function printAnswer<Line extends object>(
  read: ReadLines<Line>,
  { from, to, limit, verbose, stack }: QuestionOptions,
  filters: Partial<LineQuery>,
  { columns, complete = async (lines) => ({ lines, units: 0 }) }: Printed<Line>,
): Promise<void> {
  if (from && to && from >= to) throw new UsageError('--from must be before --to')
  const reach = await reachAt(stack)
  const query = { ...filters, from: from?.getTime(), to: to?.getTime() }
  const found: Line[] = []
  let answer: LineAnswer<Line> | undefined
  let read_units = 0
  do {
    answer = await read(reach, { ...query, limit: limit - found.length, cursor: answer?.cursor })
    found.push(...answer.lines)
    read_units += answer.units.read
  } while (found.length < limit && answer.cursor !== undefined)
  const { lines, units } = await complete(found, reach)
  await printRows(lines, ...columns)
  if (!answer.complete)
    console.error(`There may be older ones: give an earlier --to, or a --limit above ${limit}.`)
  if (verbose) console.error(`${read_units + units} read units`)
}

/** Returns what questions read of the deployment that --stack names. */
export async function reachAt(name: string | undefined): Promise<Reach> {
  const { reachOf } = await import('./reach.ts')
  return reachOf(name, await stackOf(name))
}

/** @throws InvalidArgumentError for anything but a number from 1 to 100,000 */
function parseLimit(text: string): number {
  const number = parseWholeNumber(text)
  if (number >= 1 && number <= 100_000) return number
  throw new InvalidArgumentError('It takes a number from 1 to 100000.')
}
