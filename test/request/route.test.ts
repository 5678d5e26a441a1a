import { describe, expect, test } from '@jest/globals'
import { gatewayPathOf, isForTenants, type Route, sumsDenials } from '#shared/platform/request/route.ts'
import { localSettings } from '#test/support/settings.ts'

describe('a route may be closed to a blocked tenant', () => {
  const throttle = { throttle: {} } as Pick<Route, 'throttle'>
  test.each<[string, object, boolean]>([
    ['with a token', { auth: 'bearer', idempotency: 'none' }, true],
    ['with a key', { auth: 'none', idempotency: 'optional' }, true],
    ['with limits', { auth: 'none', idempotency: 'none', ...throttle }, true],
    ['but not with a signature only', { auth: 'signature', idempotency: 'none' }, false],
    ['but not without all of them', { auth: 'none', idempotency: 'none' }, false],
  ])('%s', (_, route, expected) => {
    expect(isForTenants(route as Route)).toBe(expected)
  })
})

test.each([
  ['GET', 'read', true],
  ['GET', 'list', true],
  ['GET', 'export', false],
  ['POST', 'read', false],
] as const)('denials of %s with the access %s are summed: %s', (method, access, expected) => {
  expect(sumsDenials({ method, access } as Route)).toBe(expected)
})

test.each([
  ['/codes/{id}:restore', '/codes/{id}'],
  ['/codes/{id}', '/codes/{id}'],
  ['/codes:export', '/codes:export'],
  ['/codes/{id}:a/b', '/codes/{id}:a/b'],
])('the gateway knows %s as %s', (path, expected) => {
  expect(gatewayPathOf({ path }, localSettings)).toBe(expected)
})
