import { principalOf } from '../identity/caller.ts'
import type { TableUse } from '../table/table.ts'
import { checkRoom, countIn } from '../table/window.ts'
import type { RequestContext } from './context.ts'

/**
 * The read units that the lists of a caller may take in a window, beyond what any page may read, and its exports. They are a sixth of what
 * DynamoDB gives a partition: a caller who searches all the time leaves the rest to the other callers of its tenant.
 */
const searches = { limit: 5000, windowSeconds: 10 }
/** The time limit of the counting after a page, below the function's remaining time. */
const countMilliseconds = 300

/** What the limit reads and writes in the table. */
export const searchLimitTable = {
  get: ['rate'],
  getMany: ['rate'],
  put: ['rate'],
  update: ['rate'],
} as const satisfies TableUse

export type SearchContext = Pick<
  RequestContext,
  'table' | 'tableWithin' | 'units' | 'scope' | 'caller' | 'clock'
>

/**
 * Reads, and counts. What is read after `beforeMore`, beyond what any caller may read, is admitted by the caller's window before, and counted
 * there after it was read, also if the reading fails. What never calls it reads and writes nothing for that.
 * @throws RATE_LIMIT.exceeded
 */
export async function limitedSearch<Result>(
  operation: string,
  { table, tableWithin, units, scope, caller, clock }: SearchContext,
  read: (beforeMore: () => Promise<void>) => Promise<Result>,
): Promise<Result> {
  const { limit: max, windowSeconds: window_seconds } = searches
  const details = { reason: 'read_units', per: 'principal', max, window_seconds }
  const subject = [operation, scope.tenant, 'search', principalOf(caller)]
  const counter = { ...searches, subject, details }
  let before: number | undefined
  try {
    return await read(async () => {
      if (before === undefined) await checkRoom([counter], table, clock)
      before ??= units.read
    })
  } finally {
    const amount = before === undefined ? 0 : units.read - before
    // What was read counts whether there is room or not. A failure to count is none of the request.
    const counted = { ...counter, limit: Number.MAX_SAFE_INTEGER, amount }
    if (amount > 0) await Promise.allSettled([countIn([counted], tableWithin(countMilliseconds), clock)])
  }
}
