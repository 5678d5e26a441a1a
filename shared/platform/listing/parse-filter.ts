import type { Settings } from '../../settings/register.ts'
import { timestamp } from '../base/clock.ts'
import { failField } from '../base/failure.ts'
import { booleanOf, booleanTexts, charactersOf, dateTimePattern, readDateTime } from '../formats/text.ts'
import { type Filter, type FilterOperator, type FilterValue, type Listing, operatorsOf } from './listing.ts'

const safeIntegers = { min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER }

/**
 * Parses one query parameter as a filter.
 * @throws VALIDATION.filter.unknown_key, VALIDATION.filter.value_invalid, VALIDATION.datetime.timezone_required
 */
export function parseFilter(name: string, value: string, listing: Listing, settings: Settings): Filter {
  const dot = name.lastIndexOf('.')
  const [field, suffix] = dot < 0 ? [name, 'eq'] : [name.slice(0, dot), name.slice(dot + 1)]
  const kind = Object.hasOwn(listing.fields, field) ? listing.fields[field] : undefined
  const operator = kind && operatorsOf(kind).find((one) => one === suffix && name !== `${field}.eq`)
  if (!kind || !operator)
    throw failField('VALIDATION.filter.unknown_key', name, { reason: 'unknown', actual: 'string' })
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
export function checkLength(name: string, text: string, max: number): void {
  const actual = charactersOf(text)
  if (actual >= 1 && actual <= max) return
  throw failField('VALIDATION.filter.value_invalid', name, { reason: 'length', min: 1, max, actual })
}

/** @throws VALIDATION.filter.value_invalid unless the text is an integer from `min` to `max` */
export function parseInteger(name: string, text: string, { min, max }: { min: number; max: number }): number {
  const actual = integerOf(text)
  if (actual !== undefined && actual >= min && actual <= max) return actual
  const range = { min, max }
  const problem =
    actual === undefined
      ? ({ reason: 'integer', integer: true, ...range, actual: charactersOf(text) } as const)
      : { reason: actual < min ? 'too_small' : 'too_large', ...range, actual }
  throw failField('VALIDATION.filter.value_invalid', name, problem)
}

/** Returns the number that a text states, as a finite one, because JSON has no infinity; undefined if it is no integer. */
export function integerOf(text: string): number | undefined {
  if (!/^-?\d+$/.test(text)) return undefined
  // The sum has no negative zero.
  return Math.min(Math.max(Number(text), -Number.MAX_VALUE), Number.MAX_VALUE) + 0
}

/** @throws VALIDATION.filter.value_invalid unless the text is a boolean */
export function parseBoolean(name: string, text: string): boolean {
  const known = booleanTexts.find((one) => one === text)
  if (known !== undefined) return booleanOf(known)
  const actual = charactersOf(text)
  throw failField('VALIDATION.filter.value_invalid', name, {
    reason: 'boolean',
    allowed: booleanTexts,
    actual,
  })
}

function parseDateTime(name: string, text: string): number {
  const read = readDateTime(text)
  const actual = charactersOf(text)
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
export function checkRanges(filters: readonly Filter[], listing: Listing): void {
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

function valuesOf(filters: readonly Filter[], operators: readonly FilterOperator[]): number[] {
  return filters.filter(({ operator }) => operators.includes(operator)).map(({ values }) => Number(values[0]))
}
