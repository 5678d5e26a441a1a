import { domainToASCII } from 'node:url'
import * as v from 'valibot'
import type { ErrorCode } from '../../error-catalog.ts'
import { timestamp } from '../base/clock.ts'

/** Counts the characters of a text: Unicode code points, as in JSON Schema. */
export function charactersOf(text: string): number {
  let count = 0
  for (const _ of text) count += 1
  return count
}

/**
 * Returns a text in a form that is equal for all cases of its letters: Unicode's full case folding (`ß` is `ss`, `ς` is
 * `σ`) of composed characters, except that a dotless `ı` is an `i`. Accents count.
 */
export function foldCase(text: string): string {
  return text.normalize('NFC').toLowerCase().toUpperCase().normalize('NFC')
}

/**
 * Returns the NFC form of a text, or the text itself if both have more than `max` characters. Normalizing takes time
 * quadratic in the length of a run of marks: a minute for half a megabyte.
 */
function composed(text: string, max: number): string {
  // At most four characters compose to one, and each has at most two UTF-16 units.
  return text.length > 8 * max ? text : text.normalize('NFC')
}

/** Normalizes a text to NFC. The following action of its pipe limits it to `max` characters. */
export function nfc(max: number): v.NormalizeAction<'NFC'> {
  return {
    ...v.normalize('NFC'),
    '~run': (dataset) => ({ ...dataset, value: composed(dataset.value, max) }),
  }
}

/**
 * Validates the number of characters of a text, after the preceding actions of its pipe.
 * @param tooLong the error code of a text that is too long; otherwise VALIDATION.field.length
 */
export function characters(min: number, max: number, tooLong?: ErrorCode): v.GenericValidation<string> {
  return {
    kind: 'validation',
    type: 'characters',
    reference: characters,
    async: false,
    expects: `${min} to ${max}`,
    requirement: { min, max },
    message: ({ input }: v.BaseIssue<unknown>) =>
      tooLong !== undefined && charactersOf(String(input)) > max ? tooLong : '',
    '~run'(dataset, config) {
      if (dataset.typed) {
        const actual = charactersOf(dataset.value)
        if (actual < min || actual > max) v._addIssue(this, 'length', dataset, config)
      }
      return dataset as v.OutputDataset<string, v.BaseIssue<unknown>>
    },
  } as v.GenericValidation<string>
}

/** The message of a value that is no number where a whole one is valid: an issue has no other sign of that. */
export const wholeExpected = 'expected a whole number'

/** A whole number within two bounds. Without a maximum it is at most the largest that a double holds exactly. */
export function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER) {
  return v.pipe(v.number(wholeExpected), v.integer(), v.minValue(min), v.maxValue(max))
}

/** In octets (RFC 5321 4.5.3.1). The limit of an address is two below that of a path, which has angle brackets. */
const maxLocalPartBytes = 64
export const maxEmailBytes = 254

/** A dot-atom (RFC 5322 3.2.3), also with letters, marks and digits beyond ASCII (RFC 6532). No quoted strings. */
const atom = "[\\p{L}\\p{M}\\p{N}!#$%&'*+/=?^_`{|}~-]+"
const localPart = new RegExp(`^${atom}(?:\\.${atom})*$`, 'u')

/** At least two labels of letters, digits and inner hyphens. Unlike in an IP address, the last is not a number. */
const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
const domainName = new RegExp(`^(?:${label}\\.)+(?!\\d+$)${label}$`)

/**
 * Returns the canonical form of an e-mail address, in which the service compares, hashes, stores and uses it; undefined
 * if the text is not an address. All spellings of an address identify one person:
 * - surrounding white space is removed, and characters are composed (NFC, RFC 6532 3.1);
 * - the domain is in ASCII and lower case (RFC 5891), as in DNS;
 * - ASCII letters of the local part are in lower case. RFC 5321 2.4 leaves their case to the receiving host, but hosts
 *   ignore it, and so do Amazon Cognito and Auth0. Other letters keep their case: lower case could make different
 *   letters equal.
 * Messages go to this form, never to the typed text: if that normalizes to another person's address, the other person
 * receives them.
 */
export function normalizeEmail(text: string): string | undefined {
  const address = composed(text.trim(), maxEmailBytes)
  // Nobody sees these characters, and the conversion of the domain would remove them.
  if (/\p{Default_Ignorable_Code_Point}/u.test(address)) return undefined
  const at = address.lastIndexOf('@')
  const local = address.slice(0, Math.max(at, 0)).replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
  const unicodeDomain = address.slice(at + 1)
  // Other characters are rejected first: the conversion would remove them.
  const convertible = unicodeDomain.length <= maxEmailBytes && /^[\p{L}\p{M}\p{N}.-]+$/u.test(unicodeDomain)
  const domain = convertible ? domainToASCII(unicodeDomain) : ''
  const email = `${local}@${domain}`
  const fits = Buffer.byteLength(local) <= maxLocalPartBytes && Buffer.byteLength(email) <= maxEmailBytes
  return fits && localPart.test(local) && domainName.test(domain) ? email : undefined
}

/** An e-mail address in its canonical form (see `normalizeEmail`). @throws VALIDATION.email */
export const Email = v.pipe(
  v.string('VALIDATION.email' satisfies ErrorCode),
  v.metadata({ format: 'email' }),
  v.rawTransform(({ dataset, addIssue, NEVER }) => {
    const email = normalizeEmail(dataset.value)
    if (email !== undefined) return email
    addIssue({ message: 'VALIDATION.email' satisfies ErrorCode, expected: 'email' })
    return NEVER
  }),
)

/** RFC 3339. Without a zone, the time or its seconds may be missing too: the missing zone is the error to report. */
export const dateTimePattern =
  /^(\d{4}-\d{2}-\d{2})[Tt]((?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60))(?:\.(\d+))?([Zz]|[+-]\d{2}:\d{2})$/
const withoutZone =
  /^(\d{4}-\d{2}-\d{2})(?:[Tt](?:[01]\d|2[0-3])(?::[0-5]\d(?::(?:[0-5]\d|60)(?:\.\d+)?)?)?)?$/

/**
 * Parses a date and time. A leap second is read as the last millisecond before it.
 * @returns milliseconds since 1970, plus 0.5 if the text is more precise than that; or the problem. `no_such_time` is
 * the one of a text that matches the pattern, such as the 31st of February.
 */
export function readDateTime(text: string): number | 'malformed' | 'no_such_time' | 'without_zone' {
  const whole = dateTimePattern.exec(text)
  const [, date, time, fraction = '', zone] = whole ?? withoutZone.exec(text) ?? []
  const problem = whole ? 'no_such_time' : 'malformed'
  // Date.parse reads the 31st of February as the 3rd of March.
  const day = new Date(`${date}T00:00:00Z`)
  if (date === undefined || Number.isNaN(day.getTime()) || !timestamp(day.getTime()).startsWith(date))
    return problem
  if (time === undefined || zone === undefined) return 'without_zone'
  const isLeap = time.endsWith(':60')
  const second = isLeap ? `${time.slice(0, -2)}59.999` : `${time}.${fraction.slice(0, 3).padEnd(3, '0')}`
  const milliseconds = Date.parse(`${date}T${second}${zone.toUpperCase()}`)
  // Four digits are too few for the year of the first hours of 0000 and the last ones of 9999 in some zones.
  if (Number.isNaN(milliseconds) || !/^\d{4}-/.test(timestamp(milliseconds))) return problem
  if (isLeap) return isEndOfMonth(milliseconds) ? milliseconds : problem
  // A double cannot hold nanoseconds since 1970. Half a millisecond compares with whole ones like any other fraction.
  return milliseconds + (/[1-9]/.test(fraction.slice(3)) ? 0.5 : 0)
}

/** Returns whether a month ends after this millisecond in UTC, as after each leap second. */
function isEndOfMonth(milliseconds: number): boolean {
  return new Date(milliseconds + 1).toISOString().endsWith('-01T00:00:00.000Z')
}

const codes = {
  malformed: 'VALIDATION.field.format',
  no_such_time: 'VALIDATION.field.format',
  without_zone: 'VALIDATION.datetime.timezone_required',
  not_utc: 'VALIDATION.field.format',
} as const satisfies Record<string, ErrorCode>

/** A date and time with its zone, converted to UTC with milliseconds, ending in Z. */
export const instant = dateTime(readDateTime)

/**
 * A date and time in UTC with milliseconds, or up to nanoseconds if it has them. The text must end in Z: offsets are
 * rejected, even +00:00.
 */
export const utcInstant = dateTime(
  (text) => {
    const read = readDateTime(text)
    return typeof read === 'number' && !text.endsWith('Z') ? 'not_utc' : read
  },
  { description: 'UTC, ending in Z.' },
  (milliseconds, text) => {
    // Three digits are of the milliseconds, which stay those of a leap second.
    const [, finer = ''] = /\.\d{3}(\d{0,5}[1-9])/.exec(text) ?? []
    return timestamp(milliseconds).replace('Z', `${finer}Z`)
  },
)

function dateTime(
  read: (text: string) => number | keyof typeof codes,
  described = {},
  write: (milliseconds: number, text: string) => string = timestamp,
) {
  return v.pipe(
    v.string(),
    // Before the transformation: the description of a request ends there.
    v.metadata({ format: 'date-time', ...described }),
    v.rawTransform(({ dataset, addIssue, NEVER }) => {
      const result = read(dataset.value)
      if (typeof result === 'number') return write(result, dataset.value)
      addIssue({ message: codes[result], expected: result })
      return NEVER
    }),
  )
}

/** A currency of an amount in minor units. */
export const currencyCode = v.pipe(v.string(), v.regex(/^[A-Z]{3}$/), v.description('A code of ISO 4217.'))

/** The texts of a boolean in a query. Some languages write `1` and `0`. */
export const booleanTexts = ['true', 'false', '1', '0'] as const

/** Returns the boolean of a text of `booleanTexts`. */
export function booleanOf(text: (typeof booleanTexts)[number]): boolean {
  return text === 'true' || text === '1'
}

/** A time in the service's output format. */
export const utc = v.pipe(v.string(), v.isoTimestamp(), v.endsWith('Z'))
