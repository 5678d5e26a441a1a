import type { Settings } from '../../settings/register.ts'
import { failField } from '../errors/failure.ts'
import { checkRanges, parameterOf, parseBoolean, parseFilter } from './filters.ts'
import type { Filter, Listing } from './listing.ts'
import { parseSort, type Sort } from './sort.ts'

/** A list request that was understood. */
export interface ListQuery extends Sort {
  filters: readonly Filter[]
  /** Lower case; an item passes when one of the search fields holds it. */
  search: string | undefined
  /** Soft-deleted items: left out, shown too, or shown alone. */
  deleted: 'excluded' | 'included' | 'only'
  pageSize: number
  cursor: string | undefined
  /** Legacy paging: matches to pass over. */
  offset: number
}

const smallestPage = 1
const largestPage = 100
const defaultPage = 25
const longestSearch = 128
const longestCursor = 1024

/**
 * Reads the query of a list (contract, 'GET /v1/orders and GET /codes').
 * @param mayAskForDeleted whether the caller's role may ask for soft-deleted items
 * @throws VALIDATION.filter.*, VALIDATION.sort.field, VALIDATION.page_size.*, VALIDATION.date.range,
 * VALIDATION.datetime.timezone_required, AUTHZ.filter.denied
 */
export function parseListQuery(
  query: readonly (readonly [string, string])[],
  listing: Listing,
  operation: string,
  mayAskForDeleted: boolean,
  settings: Settings,
): ListQuery {
  const values = new Map<string, string>()
  for (const [name, value] of query) {
    if (values.has(name))
      throw failField('VALIDATION.filter.value_invalid', name.slice(0, 64), { reason: 'repeated' })
    values.set(name, value)
  }
  const take = (name: string) => {
    const value = values.get(name)
    values.delete(name)
    return value
  }
  const offsetAllowed = settings['lists.offsetPaging'].some((one) => one === operation)
  const parsed = {
    ...parseSort(take('sort') ?? settings['lists.defaultSort'], listing),
    cursor: parseCursor(take('cursor')),
    search: parseSearch(take('q')),
    deleted: parseDeleted(take('include_deleted'), take('deleted'), mayAskForDeleted),
    pageSize: parsePageSize('page_size', take('page_size'), settings),
    offset: 0,
  }
  if (offsetAllowed && (values.has('limit') || values.has('offset'))) {
    parsed.pageSize = parsePageSize('limit', take('limit'), settings)
    parsed.offset = parseOffset(take('offset'), settings['lists.readBudget'])
  }
  const filters = Array.from(values, ([name, value]) => parseFilter(name, value, listing, settings))
  checkRanges(filters, listing)
  return { ...parsed, filters, deleted: revealed(parsed.deleted, filters, listing, mayAskForDeleted) }
}

function parseCursor(cursor: string | undefined): string | undefined {
  if (cursor !== undefined && (cursor === '' || cursor.length > longestCursor)) {
    throw failField('VALIDATION.cursor.invalid', 'cursor', { reason: 'invalid' })
  }
  return cursor
}

function parseSearch(search: string | undefined): string | undefined {
  if (search === undefined) return undefined
  const text = search.normalize('NFC').trim().toLowerCase()
  if (text === '' || text.length > longestSearch) {
    throw failField('VALIDATION.filter.value_invalid', 'q', {
      reason: 'length',
      min: 1,
      max: longestSearch,
      actual: text.length,
    })
  }
  return text
}

function parseDeleted(
  include: string | undefined,
  only: string | undefined,
  allowed: boolean,
): ListQuery['deleted'] {
  const included = parseBoolean('include_deleted', include ?? 'false')
  const alone = parseBoolean('deleted', only ?? 'false')
  for (const [name, asked] of [
    ['include_deleted', included],
    ['deleted', alone],
  ] as const) {
    if (asked && !allowed) throw failField('AUTHZ.filter.denied', name, { reason: 'role' })
  }
  if (alone) return 'only'
  return included ? 'included' : 'excluded'
}

/** A filter that asks for deleted items could find none of them while they are left out. */
function revealed(
  deleted: ListQuery['deleted'],
  filters: readonly Filter[],
  { reveals }: Listing,
  allowed: boolean,
): ListQuery['deleted'] {
  const revealing = filters.find((filter) => reveals?.(filter))
  if (!revealing) return deleted
  if (!allowed) throw failField('AUTHZ.filter.denied', parameterOf(revealing), { reason: 'role' })
  return deleted === 'excluded' ? 'included' : deleted
}

function parsePageSize(name: string, value: string | undefined, settings: Settings): number {
  if (value === undefined) return defaultPage
  if (!/^[+-]?\d+$/.test(value)) throw failField('VALIDATION.page_size.invalid', name, { reason: 'integer' })
  const size = Number(value)
  if (size === 0 && settings['lists.pageSizeZero'] === 'one') return smallestPage
  if (size < smallestPage)
    throw failField('VALIDATION.page_size.min', name, {
      reason: 'too_small',
      min: smallestPage,
      actual: size,
    })
  if (size > settings['lists.pageSizeAbsurd']) {
    throw failField('VALIDATION.page_size.max', name, { reason: 'too_large', max: largestPage })
  }
  return Math.min(size, largestPage)
}

function parseOffset(value: string | undefined, most: number): number {
  const offset = Number(value ?? '0')
  if (!/^\d+$/.test(value ?? '0') || offset > most) {
    throw failField('VALIDATION.filter.value_invalid', 'offset', { reason: 'integer', min: 0, max: most })
  }
  return offset
}
