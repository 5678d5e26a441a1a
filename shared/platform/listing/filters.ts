import type { Settings } from '../../settings/register.ts'
import { failField } from '../errors/failure.ts'
import { type FieldKind, type Listing, type Operator, operatorsOf, rangeOperators } from './listing.ts'

/** One condition of a list request. Date-times are milliseconds since 1970 and may have a fraction. */
export interface Filter {
  field: string
  operator: Operator
  values: readonly (string | number)[]
}

const longestValue = 255
const mostValues = 50
/** RFC 3339, with the zone made optional so that its lack gets an error of its own. */
const dateTime =
  /^(\d{4}-\d{2}-\d{2})[Tt ]((?:[01]\d|2[0-3]):\d{2}:\d{2})(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})?$/

/**
 * Reads one query parameter as a filter.
 * @throws VALIDATION.filter.unknown_key, VALIDATION.filter.value_invalid, VALIDATION.datetime.timezone_required
 */
export function parseFilter(name: string, value: string, listing: Listing, settings: Settings): Filter {
  const dot = name.lastIndexOf('.')
  const [field, suffix] = dot < 0 ? [name, 'eq'] : [name.slice(0, dot), name.slice(dot + 1)]
  const kind = Object.hasOwn(listing.fields, field) ? listing.fields[field] : undefined
  const operator = kind && operatorsOf(kind).find((one) => one === suffix && name !== `${field}.eq`)
  if (!kind || !operator)
    throw failField('VALIDATION.filter.unknown_key', name.slice(0, 64), { reason: 'unknown' })
  const texts = operator === 'in' ? value.split(',') : [value]
  if (texts.length > mostValues) {
    throw failField('VALIDATION.filter.value_invalid', name, {
      reason: 'too_many',
      max: mostValues,
      actual: texts.length,
    })
  }
  const allowed = listing.allowed(settings)[field]
  return { field, operator, values: texts.map((text) => parseValue(name, text, kind, allowed)) }
}

function parseValue(
  name: string,
  text: string,
  kind: FieldKind,
  allowed: readonly string[] | undefined,
): string | number {
  if (text === '' || text.length > longestValue) {
    throw failField('VALIDATION.filter.value_invalid', name, {
      reason: 'length',
      min: 1,
      max: longestValue,
      actual: text.length,
    })
  }
  if (kind === 'date-time') return parseDateTime(name, text)
  if (kind === 'integer') {
    const number = Number(text)
    if (!/^-?\d+$/.test(text) || !Number.isSafeInteger(number)) {
      throw failField('VALIDATION.filter.value_invalid', name, { reason: 'integer' })
    }
    return number
  }
  if (allowed && !allowed.includes(text)) {
    throw failField('VALIDATION.filter.value_invalid', name, { reason: 'not_allowed', allowed })
  }
  return text
}

function parseDateTime(name: string, text: string): number {
  const match = dateTime.exec(text)
  const [, date, time, fraction = '', zone] = match ?? []
  if (date === undefined || time === undefined) {
    // A date alone has no zone either.
    const code = /^\d{4}-\d{2}-\d{2}$/.test(text)
      ? 'VALIDATION.datetime.timezone_required'
      : 'VALIDATION.filter.value_invalid'
    throw failField(code, name, { reason: code.endsWith('invalid') ? 'date-time' : 'timezone_required' })
  }
  const seconds = Date.parse(`${date}T${time}${(zone ?? 'Z').toUpperCase()}`)
  if (Number.isNaN(seconds) || !isCalendarDate(date)) {
    throw failField('VALIDATION.filter.value_invalid', name, { reason: 'date-time' })
  }
  if (zone === undefined) {
    throw failField('VALIDATION.datetime.timezone_required', name, { reason: 'timezone_required' })
  }
  return seconds + Number(`0${fraction}`) * 1000
}

/** Date.parse takes the 31st of February for the 3rd of March. */
function isCalendarDate(date: string): boolean {
  const parsed = new Date(`${date}T00:00:00Z`)
  return !Number.isNaN(parsed.getTime()) && parsed.toISOString().startsWith(date)
}

/** @throws VALIDATION.date.range when a lower bound lies above an upper one, so that nothing could ever match */
export function checkRanges(filters: readonly Filter[], listing: Listing): void {
  for (const [field, kind] of Object.entries(listing.fields)) {
    const bounds = filters.filter((filter) => filter.field === field && isRange(filter.operator))
    const lower = Math.max(...valuesOf(bounds, ['gte', 'gt']), Number.NEGATIVE_INFINITY)
    const upper = Math.min(...valuesOf(bounds, ['lte', 'lt']), Number.POSITIVE_INFINITY)
    if (lower <= upper) continue
    const code = kind === 'date-time' ? 'VALIDATION.date.range' : 'VALIDATION.filter.value_invalid'
    throw failField(code, field, { reason: 'range' })
  }
}

function isRange(operator: Operator): boolean {
  return rangeOperators.some((one) => one === operator)
}

function valuesOf(filters: readonly Filter[], operators: readonly Operator[]): number[] {
  return filters.filter(({ operator }) => operators.includes(operator)).map(({ values }) => Number(values[0]))
}

/** Whether an item passes every filter. */
export function passes(
  item: Readonly<Record<string, unknown>>,
  filters: readonly Filter[],
  listing: Listing,
): boolean {
  return filters.every(({ field, operator, values }) => {
    const stored = item[field]
    const actual =
      listing.fields[field] === 'date-time' ? Date.parse(String(stored)) : (stored as string | number)
    return comparisons[operator](actual, values)
  })
}

type Value = string | number
const comparisons: Record<Operator, (actual: Value, values: readonly Value[]) => boolean> = {
  eq: (actual, [value]) => actual === value,
  in: (actual, values) => values.includes(actual),
  gte: (actual, [value]) => value !== undefined && actual >= value,
  gt: (actual, [value]) => value !== undefined && actual > value,
  lte: (actual, [value]) => value !== undefined && actual <= value,
  lt: (actual, [value]) => value !== undefined && actual < value,
}
