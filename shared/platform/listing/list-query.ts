import type { Settings } from '../../settings/register.ts'
import { type Failure, failField } from '../base/failure.ts'
import { charactersOf, foldCase } from '../formats/text.ts'
import { type Filter, type Listing, parseSort, type Sort } from './listing.ts'
import {
  checkLength,
  checkRanges,
  integerOf,
  parameterOf,
  parseBoolean,
  parseFilter,
  parseInteger,
} from './parse-filter.ts'

/** A parsed list request. */
export interface ListQuery extends Sort {
  filters: readonly Filter[]
  /** Folded by `foldCase`. An item matches if one of the search fields contains it in any case. */
  search: string | undefined
  /** Soft-deleted items: excluded, included or the only ones. */
  deleted: 'excluded' | 'included' | 'only'
  pageSize: number
  cursor: string | undefined
  /** Legacy paging: the number of matches to skip. */
  offset: number
}

/** The parameters of every list. */
export const listParameters: readonly string[] =
  'sort cursor q include_deleted deleted page_size limit offset'.split(' ')

const minPageSize = 1
/** The only maximum that callers learn: larger sizes count as this one, except absurd ones. */
export const maxPageSize = 100
const defaultPage = 25
/** A size above this one is a mistake and no wish for the largest page: ten times the 1,000 that other APIs return at most. */
export const absurdPageSize = 10_000
const maxCursorLength = 1024

/** The listing of a route, with its parser: functions without a list do not bundle the parser. */
export type RouteListing = Listing & { parse: typeof parseListQuery }

/**
 * Parses the query of a list (docs/lists.md).
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
  for (const [name, [pair, ...more]] of Map.groupBy(query, ([one]) => one)) {
    const problem = { reason: 'repeated', max: 1, actual: more.length + 1 }
    if (more.length > 0) throw failField('VALIDATION.filter.value_invalid', name, problem)
    values.set(name, pair?.[1] ?? '')
  }
  const take = (name: string) => {
    const value = values.get(name)
    values.delete(name)
    return value
  }
  const offsetAllowed = settings['lists.offsetPaging'].some((one) => one === operation)
  if (offsetAllowed) {
    rejectCombination(values, 'offset', 'cursor')
    rejectCombination(values, 'limit', 'page_size')
  }
  const [includeDeleted, deletedOnly] = [take('include_deleted'), take('deleted')]
  const parsed = {
    ...parseSort(take('sort') ?? settings['lists.defaultSort'], listing),
    cursor: parseCursor(take('cursor')),
    search: parseSearch(take('q'), settings['lists.maxSearchLength']),
    deleted: parseDeleted(includeDeleted, deletedOnly, mayAskForDeleted, settings),
    pageSize: parsePageSize('page_size', take('page_size'), settings),
    offset: 0,
  }
  if (offsetAllowed) {
    if (values.has('limit')) parsed.pageSize = parsePageSize('limit', take('limit'), settings)
    parsed.offset = parseOffset(take('offset'), settings['lists.readBudget'])
  }
  const filters = Array.from(values, ([name, value]) => parseFilter(name, value, listing, settings))
  checkRanges(filters, listing)
  const revealing = filters.find((filter) => listing.reveals?.(filter))
  if (!revealing) return { ...parsed, filters }
  const name = parameterOf(revealing)
  const value = values.get(name) ?? ''
  if (!mayAskForDeleted) throw deniedFilter(name, settings)
  if (excludes('include_deleted', includeDeleted)) throw contradiction(name, value, 'include_deleted')
  if (excludes('deleted', deletedOnly)) throw contradiction(name, value, 'deleted')
  // A filter on deleted items would match nothing if they were excluded.
  return { ...parsed, filters, deleted: parsed.deleted === 'excluded' ? 'included' : parsed.deleted }
}

/** Returns whether a boolean parameter is sent as false. */
function excludes(name: string, value: string | undefined): boolean {
  return value !== undefined && !parseBoolean(name, value)
}

/** Returns the failure of a filter that the caller's role may not use. */
function deniedFilter(name: string, settings: Settings): Failure {
  return failField('AUTHZ.filter.denied', name, {
    reason: 'role',
    allowed: settings['lists.includeDeletedRoles'],
    actual: 'string',
  })
}

/** Rejects two parameters if one of them would have to be ignored. @throws VALIDATION.filter.value_invalid */
function rejectCombination(values: ReadonlyMap<string, string>, name: string, other: string): void {
  const value = values.get(name)
  if (value !== undefined && values.has(other)) throw contradiction(name, value, other)
}

function contradiction(name: string, value: string, other: string): Failure {
  const problem = { reason: `not_with_${other}`, actual: charactersOf(value) }
  return failField('VALIDATION.filter.value_invalid', name, problem)
}

function parseCursor(cursor: string | undefined): string | undefined {
  if (cursor !== undefined && (cursor === '' || cursor.length > maxCursorLength)) {
    const problem = { reason: 'invalid', min: 1, max: maxCursorLength, actual: charactersOf(cursor) }
    throw failField('VALIDATION.cursor.invalid', 'cursor', problem)
  }
  return cursor
}

function parseSearch(search: string | undefined, max: number): string | undefined {
  if (search === undefined) return undefined
  const text = search.normalize('NFC').trim()
  checkLength('q', text, max)
  return foldCase(text)
}

function parseDeleted(
  include: string | undefined,
  only: string | undefined,
  allowed: boolean,
  settings: Settings,
): ListQuery['deleted'] {
  const included = parseBoolean('include_deleted', include ?? 'false')
  const alone = parseBoolean('deleted', only ?? 'false')
  if (included && !allowed) throw deniedFilter('include_deleted', settings)
  if (alone && !allowed) throw deniedFilter('deleted', settings)
  if (include !== undefined && only !== undefined && included !== alone) {
    throw contradiction('deleted', only, 'include_deleted')
  }
  if (alone) return 'only'
  return included ? 'included' : 'excluded'
}

function parsePageSize(name: string, value: string | undefined, settings: Settings): number {
  if (value === undefined) return defaultPage
  const bounds = { min: minPageSize, max: maxPageSize }
  const size = integerOf(value.replace(/^\+(?=\d)/, ''))
  if (size === undefined) {
    const problem = { reason: 'integer', integer: true, ...bounds, actual: charactersOf(value) } as const
    throw failField('VALIDATION.page_size.invalid', name, problem)
  }
  if (size === 0 && settings['lists.pageSizeZero'] === 'one') return minPageSize
  if (size < minPageSize) {
    throw failField('VALIDATION.page_size.min', name, { reason: 'too_small', ...bounds, actual: size })
  }
  if (size > absurdPageSize) {
    throw failField('VALIDATION.page_size.max', name, { reason: 'too_large', ...bounds, actual: size })
  }
  return Math.min(size, maxPageSize)
}

function parseOffset(value = '0', max: number): number {
  return parseInteger('offset', value, { min: 0, max })
}
