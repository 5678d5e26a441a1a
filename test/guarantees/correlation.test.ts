import { describe, expect, test } from '@jest/globals'
import { correlationOf } from '#shared/platform/base/correlation.ts'
import { localSettings } from '#test/support/settings.ts'
import { writtenLog } from '#test/support/written-log.ts'

const made = 'made'
const correlation = (headers: Record<string, string>) => correlationOf(headers, localSettings, () => made)

describe('a correlation id', () => {
  test.each(['checkout:42', '1', 'jane@example.com', '{"a":"b"}', '<b>', 'x'.repeat(128)])(
    '%j is used',
    (id) => {
      expect(correlation({ 'x-correlation-id': id }).id).toBe(id)
    },
  )

  test.each([
    '',
    ' ',
    'a b',
    'a\tb',
    'a\r\nSet-Cookie: a=b',
    'a\n',
    'a\u0000',
    'ü',
    '\u2028',
    'x'.repeat(129),
  ])('%j is replaced', (id) => {
    expect(correlation({ 'x-correlation-id': id }).id).toBe(made)
  })

  test('cannot inject a log line', () => {
    const line = {
      operation: 'tests.run',
      watched: 'tests',
      status: 200,
      failure: undefined,
      correlation: correlation({ 'x-correlation-id': '","code":"FORGED","x":"' }),
      durationMilliseconds: 1,
    }
    const written = writtenLog((log) => log.request(line))
    expect(written.map((line) => JSON.parse(line).code)).toEqual(['REQUEST_ANSWERED'])
  })
})

const ids = '12345678901234567890123456789012-1234567890123456'

/** From the public test suite of W3C Trace Context. */
describe('a traceparent', () => {
  const kept = (traceparent: string) => correlation({ traceparent }).trace.traceparent

  test.each([
    ['of version 00', `00-${ids}-01`, `00-${ids}-01`],
    ['with white space around it', ` \t00-${ids}-01\t `, `00-${ids}-01`],
    ['with a second flag', `00-${ids}-03`, `00-${ids}-03`],
    ['of a later version', `cc-${ids}-01`, `00-${ids}-01`],
    ['of a later version, not sampled', `cc-${ids}-fe`, `00-${ids}-00`],
    ['of a later version with more members', `cc-${ids}-01-what-the-future-will-be-like`, `00-${ids}-01`],
  ])('%s is continued in version 00', (_, sent, expected) => expect(kept(sent)).toBe(expected))

  test.each([
    `00-${ids}-01.`,
    `00-${ids}-01-what-the-future-will-be-like`,
    `cc-${ids}-01.what-the-future-will-be-like`,
    `cc-${ids}-011`,
    `ff-${ids}-01`,
    `.0-${ids}-01`,
    `000-${ids}-01`,
    `0-${ids}-01`,
    `00-${ids}-.0`,
    `00-${ids}-001`,
    `00-${ids}-1`,
    `00-${ids}-01,00-${ids}-01`,
    `00-${ids}-0F`,
    '00-00000000000000000000000000000000-1234567890123456-01',
    '00-12345678901234567890123456789012-0000000000000000-01',
    '00-.2345678901234567890123456789012-1234567890123456-01',
    '00-1234567890123456789012345678901-1234567890123456-01',
    '00-12345678901234567890123456789012-12345678901234567-01',
    `cc-${ids}-01-a\nb`,
  ])('%j is ignored', (sent) => expect(kept(sent)).toBeUndefined())
})

/** From the public test suite of W3C Trace Context. */
describe('a tracestate', () => {
  const kept = (tracestate: string) =>
    correlation({ traceparent: `00-${ids}-01`, tracestate }).trace.tracestate
  const members = (count: number) =>
    Array.from({ length: count }, (_, index) => `bar${index}=${index}`).join()
  const value = ' !"#$%&\'()*+-./0123456789:;<>?@ABCXYZ[\\]^_`abcxyz{|}~'

  test.each([
    ['foo=1', 'foo=1'],
    ['foo=1 \t , \t bar=2, \t baz=3', 'foo=1,bar=2,baz=3'],
    ['foo=1\t \t,\t \tbar=2,\t \tbaz=3', 'foo=1,bar=2,baz=3'],
    [' foo=1', 'foo=1'],
    ['\tfoo=1\t', 'foo=1'],
    ['foo=1,', 'foo=1'],
    ['foo=1,,bar=2', 'foo=1,bar=2'],
    [`abcxyz0189_-*/=${value}`, `abcxyz0189_-*/=${value}`],
    ['0189_-*/@abcxyz=1', '0189_-*/@abcxyz=1'],
    [`${'z'.repeat(256)}=1`, `${'z'.repeat(256)}=1`],
    [`${'t'.repeat(241)}@${'v'.repeat(14)}=1`, `${'t'.repeat(241)}@${'v'.repeat(14)}=1`],
    [`foo=${'v'.repeat(256)}`, `foo=${'v'.repeat(256)}`],
    [members(32), members(32)],
  ])('%j is continued', (sent, expected) => expect(kept(sent)).toBe(expected))

  test.each([
    '',
    'foo',
    'foo=',
    'foo=,bar=3',
    'foo =1',
    'FOO=1',
    'foo.bar=1',
    'foo@=1,bar=2',
    '@foo=1',
    'foo@@bar=1',
    'foo@bar@baz=1',
    'foo=bar=baz',
    'foo=a\tb',
    'foo=ü',
    `${'z'.repeat(257)}=1`,
    `${'t'.repeat(242)}@v=1`,
    `t@${'v'.repeat(15)}=1`,
    `foo=${'v'.repeat(257)}`,
    members(33),
  ])('%j is ignored', (sent) => expect(kept(sent)).toBeUndefined())

  test('is continued up to 512 characters, in whole members', () => {
    const [one, other] = [`a=${'x'.repeat(250)}`, `b=${'x'.repeat(250)}`]
    expect(kept(`${one},${other},c=3,ddddddddd=4`)).toBe(`${one},${other},c=3`)
  })
})

describe('baggage', () => {
  const kept = (baggage: string) => correlation({ baggage }).trace.baggage

  test.each([
    ['shop=one', 'shop=one'],
    ['shop=one,user=two', 'shop=one,user=two'],
    [' shop = one , user=two;secret;kind=x ', 'shop = one,user=two;secret;kind=x'],
    ['shop=', 'shop='],
    ['shop=one=two', 'shop=one=two'],
  ])('%j is forwarded', (baggage, expected) => {
    expect(kept(baggage)).toBe(expected)
  })

  test.each(['', ',', 'shop', '=one', 'shöp=one', 'shop="one"', 'shop=a\\b', 'sh op=one', 'shop=a\r\nX: y'])(
    '%j is not forwarded',
    (baggage) => {
      expect(kept(baggage)).toBeUndefined()
    },
  )

  test('keeps its valid members', () => {
    expect(kept('shop,user=two')).toBe('user=two')
  })

  test('is forwarded up to 1024 bytes', () => {
    const whole = `a=${'x'.repeat(1022)}`
    expect(kept(whole)).toBe(whole)
  })

  test('is truncated between members', () => {
    expect(kept(`a=1,b=${'x'.repeat(1022)},c=2`)).toBe('a=1')
  })

  test('does not require a traceparent', () => {
    expect(correlation({ baggage: 'a=b', tracestate: 'c=d' }).trace).toEqual({ baggage: 'a=b' })
  })
})
