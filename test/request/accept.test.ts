import { describe, expect, test } from '@jest/globals'
import { checkAccept } from '#shared/platform/request/parse-headers.ts'
import { timeRatio } from '#test/support/linear-time.ts'
import { localSettings } from '../support/settings.ts'

function takes(accept: string | undefined, mediaType: string): boolean {
  const headers: Record<string, string> = accept === undefined ? {} : { accept }
  try {
    checkAccept(headers, mediaType, localSettings)
    return true
  } catch {
    return false
  }
}

const json = 'application/json'
const csv = 'text/csv'

describe('Accept', () => {
  test.each([
    [undefined, json],
    ['', json],
    ['*/*', csv],
    ['text/*', csv],
    ['Application/JSON', json],
    ['text/html, */*;q=0.1', json],
    ['application/json;charset=utf-8', json],
    ['application/json; charset="UTF-8"', json],
    ['application/json;q=0.001', json],
    ['*/*;q=0, application/json', json],
    ['application/*;q=0, application/json;q=0.5', json],
    ['application/json;q=1.0;ext=1', json],
    ['text/html;a="x,y;z", application/json', json],
    ['application/health+json', 'application/health+json'],
    ['application/json', 'application/health+json'],
    ['application/json', csv],
    ['application/*', csv],
  ])('%j accepts %s', (accept, mediaType) => {
    expect(takes(accept, mediaType)).toBe(true)
  })

  test.each([
    ['text/html', json],
    ['text/html', csv],
    ['text/csv', json],
    ['text/csv;q=0, application/json;q=0', csv],
    ['application/json;q=0', json],
    ['application/json;Q=0.000', json],
    ['application/json;q=0, */*', json],
    ['application/json;q=0, application/*;q=1', json],
    ['application/json;charset=utf-8;q=0, application/json', json],
    ['application/json;version=2', json],
    ['application/*;q=0, */*', json],
    ['*/*;q=0', json],
    ['text/html;a=", application/json, "', json],
    ['application/health+json;q=0, application/json;q=0', 'application/health+json'],
    ['application/jsonp', json],
    [',;,', json],
  ])('%j excludes %s', (accept, mediaType) => {
    expect(takes(accept, mediaType)).toBe(false)
  })

  const textsOf: [string, (length: number) => string][] = [
    ['ranges', (length) => 'application/json;q=0,'.repeat(length / 20)],
    ['parameters', (length) => `application/json${';a=b'.repeat(length / 4)}`],
    ['quotes', (length) => 'a;b="'.repeat(length / 5)],
    ['backslashes in quotes', (length) => `a;b="${'\\'.repeat(length + 1)}`],
    ['unclosed escaped quotes', (length) => `a;b="${'\\"'.repeat(length / 2)}`],
  ]

  test.each(textsOf)('with very many %s takes time linear in its length', (_, textOf) => {
    expect(timeRatio((accept) => takes(accept, json), textOf, 524_288)).toBeLessThan(4)
  })
})
