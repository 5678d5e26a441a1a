import * as v from 'valibot'
import { timestamp } from '../clock.ts'
import type { ErrorCode } from '../errors/catalogue.ts'

/** RFC 3339. Without a zone, the time or its seconds may be missing too: the missing zone is the error to report. */
const pattern =
  /^(\d{4}-\d{2}-\d{2})[Tt ]((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})$/
const withoutZone = /^(\d{4}-\d{2}-\d{2})(?:[Tt ](?:[01]\d|2[0-3])(?::[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?)?)?$/

/**
 * Parses a date and time.
 * @returns milliseconds since 1970, possibly with a fraction; or the problem
 */
export function readDateTime(text: string): number | 'malformed' | 'without_zone' {
  const [, date, time, fraction = '', zone] = pattern.exec(text) ?? withoutZone.exec(text) ?? []
  if (date === undefined || !isCalendarDate(date)) return 'malformed'
  if (time === undefined || zone === undefined) return 'without_zone'
  const milliseconds = Date.parse(`${date}T${time}${zone.toUpperCase()}`) + Number(`0${fraction}`) * 1000
  return Number.isNaN(milliseconds) ? 'malformed' : milliseconds
}

/** Returns whether a date exists: Date.parse reads the 31st of February as the 3rd of March. */
function isCalendarDate(date: string): boolean {
  const parsed = new Date(`${date}T00:00:00Z`)
  return !Number.isNaN(parsed.getTime()) && parsed.toISOString().startsWith(date)
}

/** Returns whether RFC 3339 can express a time in UTC. It cannot for the last hours of 9999 in a zone behind UTC. */
function isWritable(milliseconds: number): boolean {
  return /^\d{4}-/.test(timestamp(milliseconds))
}

const codes = {
  malformed: 'VALIDATION.field.format',
  without_zone: 'VALIDATION.datetime.timezone_required',
  not_utc: 'VALIDATION.field.format',
} as const satisfies Record<string, ErrorCode>

/** A date and time with its zone, converted to UTC with milliseconds, ending in Z. */
export const instant = dateTime(readDateTime)

/** A date and time in UTC. The text must end in Z: offsets are rejected, even +00:00. */
export const utcInstant = dateTime((text) => {
  const read = readDateTime(text)
  return typeof read === 'number' && !text.endsWith('Z') ? 'not_utc' : read
})

function dateTime(read: (text: string) => number | keyof typeof codes) {
  return v.pipe(
    v.string(),
    v.metadata({ format: 'date-time' }),
    v.rawTransform(({ dataset, addIssue, NEVER }) => {
      const result = read(dataset.value)
      if (typeof result === 'number' && isWritable(result)) return timestamp(result)
      const problem = typeof result === 'number' ? 'malformed' : result
      addIssue({ message: codes[problem], expected: problem })
      return NEVER
    }),
  )
}

/** A time in the service's output format. */
export const utc = v.pipe(v.string(), v.isoTimestamp(), v.endsWith('Z'))
