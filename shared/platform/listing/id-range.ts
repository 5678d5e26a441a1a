import { firstIdAt, isUuidV7, lastIdAt } from '../ids/uuid-v7.ts'
import { type Bounds, larger, largestId, smaller, smallestId } from './ids.ts'
import type { Filter } from './listing.ts'

/** The last millisecond that an id can hold. */
const endOfTime = 2 ** 48 - 1

/** Returns the range of ids that can pass the filters on created_at and id. The filters still run on each item. */
export function idRange(filters: readonly Filter[]): Bounds {
  let low = smallestId
  let high = largestId
  for (const { field, operator, values } of filters) {
    if (field === 'id') {
      const ids = values.map(String).filter(isUuidV7).sort()
      low = larger(low, ids[0] ?? largestId)
      high = smaller(high, ids.at(-1) ?? smallestId)
    }
    if (field !== 'created_at') continue
    const at = Number(values[0])
    if (operator === 'gte' || operator === 'eq') low = larger(low, firstIdAt(within(Math.ceil(at))))
    if (operator === 'gt') low = larger(low, firstIdAt(within(Math.floor(at) + 1)))
    if (operator === 'lte' || operator === 'eq') high = smaller(high, lastIdAt(within(Math.floor(at))))
    if (operator === 'lt') high = smaller(high, lastIdAt(within(Math.ceil(at) - 1)))
  }
  return { low, high }
}

/** @param horizon the upper bound of the snapshot */
export function capped({ low, high }: Bounds, horizon: string | undefined): Bounds {
  return { low, high: horizon === undefined ? high : smaller(high, horizon) }
}

function within(milliseconds: number): number {
  return Math.min(Math.max(milliseconds, 0), endOfTime)
}
