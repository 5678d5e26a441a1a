import type { Settings } from '../../settings/register.ts'
import { timestamp } from '../base/clock.ts'
import { type Failure, failField } from '../base/failure.ts'
import { charactersOf, dateTimePattern, foldCase, readDateTime } from '../formats/text.ts'
import {
  type Filter,
  type FilterValue,
  type Listing,
  type Operator,
  operatorsOf,
  parseSort,
  type Sort,
} from './listing.ts'

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

const minPageSize = 1
const maxPageSize = 100
const defaultPage = 25
const maxCursorLength = 1024
const safeIntegers = { min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER }

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
  if (!mayAskForDeleted) throw deniedFilter(name, value, settings)
  if (includeDeleted === 'false') throw contradiction(name, value, 'include_deleted')
  if (deletedOnly === 'false') throw contradiction(name, value, 'deleted')
  // A filter on deleted items would match nothing if they were excluded.
  return { ...parsed, filters, deleted: parsed.deleted === 'excluded' ? 'included' : parsed.deleted }
}

/** Returns the failure of a filter that the caller's role may not use. */
function deniedFilter(name: string, value: string, settings: Settings): Failure {
  return failField('AUTHZ.filter.denied', name, {
    reason: 'role',
    allowed: settings['lists.includeDeletedRoles'],
    actual: charactersOf(value),
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
    const problem = { reason: 'invalid', min: 1, max: maxCursorLength, actual: cursor.length }
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
  for (const [name, asked] of [
    ['include_deleted', included],
    ['deleted', alone],
  ] as const) {
    if (asked && !allowed) throw deniedFilter(name, 'true', settings)
  }
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
    const problem = { reason: 'integer', integer: true, ...bounds, actual: value.length } as const
    throw failField('VALIDATION.page_size.invalid', name, problem)
  }
  if (size === 0 && settings['lists.pageSizeZero'] === 'one') return minPageSize
  if (size < minPageSize) {
    throw failField('VALIDATION.page_size.min', name, { reason: 'too_small', ...bounds, actual: size })
  }
  // Sizes between the largest page and this one are accepted and get the largest page.
  const max = settings['lists.pageSizeAbsurd']
  if (size > max) {
    throw failField('VALIDATION.page_size.max', name, { reason: 'too_large', ...bounds, max, actual: size })
  }
  return Math.min(size, maxPageSize)
}

function parseOffset(value = '0', max: number): number {
  return parseInteger('offset', value, { min: 0, max })
}

/**
 * Parses one query parameter as a filter.
 * @throws VALIDATION.filter.unknown_key, VALIDATION.filter.value_invalid, VALIDATION.datetime.timezone_required
 */
function parseFilter(name: string, value: string, listing: Listing, settings: Settings): Filter {
  const dot = name.lastIndexOf('.')
  const [field, suffix] = dot < 0 ? [name, 'eq'] : [name.slice(0, dot), name.slice(dot + 1)]
  const kind = Object.hasOwn(listing.fields, field) ? listing.fields[field] : undefined
  const operator = kind && operatorsOf(kind).find((one) => one === suffix && name !== `${field}.eq`)
  if (!kind || !operator)
    throw failField('VALIDATION.filter.unknown_key', name, { reason: 'unknown', actual: value.length })
  const texts = operator === 'in' ? value.split(',') : [value]
  const max = settings['lists.maxFilterValues']
  if (texts.length > max) {
    throw failField('VALIDATION.filter.value_invalid', name, {
      reason: 'too_many',
      max,
      actual: texts.length,
    })
  }
  return { field, operator, values: texts.map((text) => parseValue(name, text, field, listing, settings)) }
}

/** Returns the name of the query parameter of a filter. */
export function parameterOf({ field, operator }: Filter): string {
  return operator === 'eq' ? field : `${field}.${operator}`
}

function parseValue(
  name: string,
  text: string,
  field: string,
  listing: Listing,
  settings: Settings,
): FilterValue {
  checkLength(name, text, settings['lists.maxFilterLength'])
  const kind = listing.fields[field]
  if (kind === 'date-time') return parseDateTime(name, text)
  if (kind === 'integer') return parseInteger(name, text, safeIntegers)
  if (kind === 'boolean') return parseBoolean(name, text)
  const normalize = listing.normalize?.[field]
  const stored = normalize ? normalize(text) : text
  const actual = charactersOf(text)
  if (stored === undefined) {
    throw failField('VALIDATION.filter.value_invalid', name, { reason: 'format', actual })
  }
  const allowed = listing.allowed(settings)[field]
  if (allowed && !allowed.includes(stored)) {
    throw failField('VALIDATION.filter.value_invalid', name, { reason: 'not_allowed', allowed, actual })
  }
  return stored
}

/** @throws VALIDATION.filter.value_invalid unless the text has 1 to `max` characters */
function checkLength(name: string, text: string, max: number): void {
  const actual = charactersOf(text)
  if (actual >= 1 && actual <= max) return
  throw failField('VALIDATION.filter.value_invalid', name, { reason: 'length', min: 1, max, actual })
}

function parseInteger(name: string, text: string, { min, max }: { min: number; max: number }): number {
  const actual = integerOf(text)
  if (actual !== undefined && actual >= min && actual <= max) return actual
  const range = { min, max }
  const problem =
    actual === undefined
      ? ({ reason: 'integer', integer: true, ...range, actual: text.length } as const)
      : { reason: actual < min ? 'too_small' : 'too_large', ...range, actual }
  throw failField('VALIDATION.filter.value_invalid', name, problem)
}

/** Returns the number that a text states, as a finite one, because JSON has no infinity; undefined if it is no integer. */
function integerOf(text: string): number | undefined {
  if (!/^-?\d+$/.test(text)) return undefined
  // The sum has no negative zero.
  return Math.min(Math.max(Number(text), -Number.MAX_VALUE), Number.MAX_VALUE) + 0
}

/** @throws VALIDATION.filter.value_invalid */
function parseBoolean(name: string, text: string): boolean {
  if (text === 'true' || text === 'false') return text === 'true'
  throw failField('VALIDATION.filter.value_invalid', name, {
    reason: 'boolean',
    allowed: ['true', 'false'],
    actual: text.length,
  })
}

function parseDateTime(name: string, text: string): number {
  const read = readDateTime(text)
  const actual = text.length
  const facts = { regex: dateTimePattern.source, actual }
  if (read === 'no_such_time') {
    throw failField('VALIDATION.filter.value_invalid', name, { reason: read, actual })
  }
  if (read === 'malformed') {
    throw failField('VALIDATION.filter.value_invalid', name, { reason: 'date-time', ...facts })
  }
  if (read === 'without_zone') {
    throw failField('VALIDATION.datetime.timezone_required', name, { reason: 'timezone_required', ...facts })
  }
  return read
}

/** @throws VALIDATION.date.range, VALIDATION.filter.value_invalid if a lower bound is above an upper bound */
function checkRanges(filters: readonly Filter[], listing: Listing): void {
  for (const [field, kind] of Object.entries(listing.fields)) {
    const bounds = filters.filter((filter) => filter.field === field)
    const lower = Math.max(...valuesOf(bounds, ['gte', 'gt']), Number.NEGATIVE_INFINITY)
    const upper = Math.min(...valuesOf(bounds, ['lte', 'lt']), Number.POSITIVE_INFINITY)
    if (lower <= upper) continue
    if (kind === 'date-time') {
      const times = { not_before: timestamp(lower), actual: timestamp(upper) }
      throw failField('VALIDATION.date.range', field, { reason: 'range', ...times })
    }
    throw failField('VALIDATION.filter.value_invalid', field, { reason: 'range', min: lower, actual: upper })
  }
}

function valuesOf(filters: readonly Filter[], operators: readonly Operator[]): number[] {
  return filters.filter(({ operator }) => operators.includes(operator)).map(({ values }) => Number(values[0]))
}
