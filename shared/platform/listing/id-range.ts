import { firstIdAt, isUuidV7, lastIdAt } from '../ids/uuid-v7.ts'
import type { Filter } from './filters.ts'
import { larger, largestId, smaller, smallestId } from './ids.ts'

/** The last millisecond that an id can hold. */
const endOfTime = 2 ** 48 - 1

/** The ids that can pass the filters on created_at and id: a narrower read; the filters still decide. */
export function idRange(filters: readonly Filter[]): { low: string; high: string } {
  let low = smallestId
  let high = largestId
  for (const { field, operator, values } of filters) {
    const value = values[0]
    if (field === 'id' && operator === 'eq') {
      if (!isUuidV7(String(value))) return { low: largestId, high: smallestId }
      low = larger(low, String(value))
      high = smaller(high, String(value))
    }
    if (field !== 'created_at') continue
    const at = Number(value)
    if (operator === 'gte' || operator === 'eq') low = larger(low, firstIdAt(within(Math.ceil(at))))
    if (operator === 'gt') low = larger(low, firstIdAt(within(Math.floor(at) + 1)))
    if (operator === 'lte' || operator === 'eq') high = smaller(high, lastIdAt(within(Math.floor(at))))
    if (operator === 'lt') high = smaller(high, lastIdAt(within(Math.ceil(at) - 1)))
  }
  return { low, high }
}

function within(milliseconds: number): number {
  return Math.min(Math.max(milliseconds, 0), endOfTime)
}
