import { describe, expect, test } from '@jest/globals'
import * as v from 'valibot'
import { dateTimePattern, readDateTime, utcInstant } from '#shared/platform/formats/text.ts'

const at = (text: string) => Date.parse(text)

/** Most of them are from the JSON Schema Test Suite and RFC 3339 5.8. */
describe('a date and time', () => {
  test.each([
    ['1985-04-12T23:20:50.52Z', at('1985-04-12T23:20:50.520Z')],
    ['1996-12-19T16:39:57-08:00', at('1996-12-20T00:39:57Z')],
    ['1937-01-01T12:00:27.87+00:20', at('1937-01-01T11:40:27.870Z')],
    ['1963-06-19t08:30:06.283185z', at('1963-06-19T08:30:06.283Z') + 0.5],
    ['2026-03-01T00:00:00-00:00', at('2026-03-01T00:00:00Z')],
    ['2024-02-29T00:00:00Z', at('2024-02-29T00:00:00Z')],
    ['0000-01-01T00:00:00Z', at('0000-01-01T00:00:00Z')],
  ])('%s is read', (text, expected) => expect(readDateTime(text)).toBe(expected))

  test.each([
    '1998-12-31T23:59:60Z',
    '1998-12-31T23:59:60.123Z',
    '1998-12-31T15:59:60.123-08:00',
    '1999-01-01T05:29:60+05:30',
  ])('in a leap second is the last millisecond of its month: %s', (text) => {
    expect(readDateTime(text)).toBe(at('1998-12-31T23:59:59.999Z'))
  })

  test.each([
    ['.1234567890', 123.5],
    ['.9999999999999999999999999', 999.5],
    ['.000000000000000000000001', 0.5],
    ['.12300000000000', 123],
    [`.${'9'.repeat(10_000)}`, 999.5],
  ])('may have a fraction of any length', (fraction, milliseconds) => {
    expect(readDateTime(`2026-03-01T00:00:00${fraction}Z`)).toBe(at('2026-03-01T00:00:00Z') + milliseconds)
  })

  test.each([
    '2026-03-01 00:00:00Z',
    '2026-03-01_00:00:00Z',
    '1998-12-31T23:59:61Z',
    '1990-12-31T24:00:00Z',
    '1990-12-31T10:00:00.Z',
    '1963-06-19T08:30:06.28123+01:00Z',
    '06/19/1963 08:30:06 PST',
    '2013-350T01:01:01',
    '1963-6-19T08:30:06.283185Z',
    '1963-06-1T00:00:00Z',
    '1963-06-1৪T00:00:00Z',
    '1963-06-11T0৪:00:00Z',
    '+002026-03-01T00:00:00Z',
    '20260301T000000Z',
    '2026-03-01T00Z',
    '2026-W09-7T00:00:00Z',
    '',
  ])('%j is malformed', (text) => expect(readDateTime(text)).toBe('malformed'))

  test.each([
    '1998-12-31T23:58:60Z',
    '1998-12-31T22:59:60Z',
    '1998-12-31T23:59:60+01:00',
    '1998-12-30T23:59:60Z',
    '1998-13-01T00:00:00Z',
    '1990-02-31T15:59:59.123-08:00',
    '2023-02-29T00:00:00Z',
    '1990-12-31T15:59:59-24:00',
    '1990-12-31T15:59:59+00:60',
    '9999-12-31T23:59:59-00:01',
    '0000-01-01T00:00:00+00:01',
  ])('%j matches the pattern, but is no time', (text) => {
    expect(dateTimePattern.test(text)).toBe(true)
    expect(readDateTime(text)).toBe('no_such_time')
  })

  test.each([
    '2026-03-01',
    '2026-03-01T12',
    '2026-03-01T12:00',
    '2026-03-01T12:00:00.5',
    '1998-12-31T23:59:60',
  ])('%s has no zone', (text) => expect(readDateTime(text)).toBe('without_zone'))
})

describe('the time of an event', () => {
  test.each([
    ['00.5Z', '00.500Z'],
    ['00.5001Z', '00.5001Z'],
    ['00.500100Z', '00.5001Z'],
    ['00.500000Z', '00.500Z'],
    ['00.123456789Z', '00.123456789Z'],
    ['00.1234567899Z', '00.123456789Z'],
    ['00.0000000009Z', '00.000Z'],
  ])('is kept to the nanosecond: %s is %s', (given, kept) => {
    expect(v.parse(utcInstant, `2026-03-01T00:00:${given}`)).toBe(`2026-03-01T00:00:${kept}`)
  })
})
