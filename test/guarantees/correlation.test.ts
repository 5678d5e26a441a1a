import { describe, expect, jest, test } from '@jest/globals'
import { correlationOf } from '#shared/platform/base/correlation.ts'
import { jsonLog } from '#shared/platform/base/log.ts'
import { localSettings } from '#test/support/settings.ts'

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
    const written: string[] = []
    const write = jest
      .spyOn(process.stdout, 'write')
      .mockImplementation((text) => written.push(String(text)) > 0)
    jsonLog('test').request({
      operation: 'tests.run',
      status: 200,
      failure: undefined,
      correlation: correlation({ 'x-correlation-id': '","code":"FORGED","x":"' }),
      durationMilliseconds: 1,
    })
    write.mockRestore()
    expect(written.map((line) => JSON.parse(line).code)).toEqual(['REQUEST_ANSWERED'])
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
