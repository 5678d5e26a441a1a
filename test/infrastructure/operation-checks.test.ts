import { expect, test } from '@jest/globals'
import { type RouteEntry, routes } from '#functions/routes.ts'
import { checkOperations } from '#lib/check-operations.ts'
import type { Settings } from '#shared/settings/register.ts'
import { localSettings, otherSettings } from '#test/support/settings.ts'
import { thrownBy } from '#test/support/thrown-by.ts'

/** Returns the problems of the local settings with a route table. */
function problemsOf(table: readonly RouteEntry[], changes: Partial<Settings> = {}): string[] {
  const thrown = thrownBy(() => checkOperations({ ...localSettings, ...changes }, table, 'p.json'))
  return thrown instanceof Error ? thrown.message.split('\n').filter((line) => line.startsWith('  ')) : []
}

/** Returns the route table with a copy of `orders.read` on another path. */
function withRoute(operation: string, path: string): RouteEntry[] {
  const model = routes.find(({ route }) => route.operation === 'orders.read') as RouteEntry
  return [...routes, { route: { ...model.route, operation, path }, folder: model.folder }]
}
/** Throttles operations at the gateway. */
function throttling(...operations: string[]): Partial<Settings> {
  const byOperation = Object.fromEntries(operations.map((one) => [one, { requestsPerSecond: 1, burst: 2 }]))
  return { 'limits.gateway': { ...localSettings['limits.gateway'], byOperation } }
}
const scopes = { 'auth.operationScopes': { ...localSettings['auth.operationScopes'], 'orders.more': null } }

test('the route table and the shipped profile have no problem', () => {
  expect(problemsOf(routes)).toEqual([])
})

test('the second profile of the tests has no problem', () => {
  expect(problemsOf(routes, otherSettings)).toEqual([])
})

test('an operation without a scope for API keys is reported', () => {
  expect(problemsOf(withRoute('orders.more', '/v1/orders/{id}/more'))).toEqual([
    '  auth.operationScopes: add the scope that an API key needs for orders.more, or null if no key may use it',
  ])
})

test('an operation that no API key may use is accepted', () => {
  expect(problemsOf(withRoute('orders.more', '/v1/orders/{id}/more'), scopes)).toEqual([])
})

test('two functions at one method of the gateway are reported', () => {
  expect(problemsOf(withRoute('orders.more', '/v1/orders/{id}:more'), scopes)).toEqual([
    '  functions/routes.ts: orders.read and orders.more are GET /v1/orders/{id} at the gateway: give them one path each, or one sharedFunction',
  ])
})

test('two names of a variable in one place of a path are reported', () => {
  expect(problemsOf(withRoute('orders.more', '/v1/orders/{order_id}/more'), scopes)).toEqual([
    '  functions/routes.ts: /v1/orders/{id} and /v1/orders/{order_id} differ only in the name of a variable: use one name',
  ])
})

const limit = { limit: 1, windowSeconds: 1, counts: 'requests' } as const
const ending = (operation: string, sunsetAt: string) => ({
  'versioning.sunset': {
    ...localSettings['versioning.sunset'],
    deprecated: { [operation]: { deprecatedAt: '2026-01-01', sunsetAt } },
  },
})
const sessions = (...operations: string[]) => ({
  'auth.sessionOperations': ['discount.verify', ...operations],
})
const others = (operation: string, per: 'principal' | 'source' | 'tenant') => ({
  'limits.other': { [operation]: [{ ...limit, per }] },
})
test.each<[object, string]>([
  [{ 'auth.mfa': { operations: ['x'], claim: 'amr', value: 'mfa' } }, 'auth.mfa: there is no operation x'],
  [{ 'auth.scopes': { x: 'orders:write' } }, 'auth.scopes: there is no operation x'],
  [
    { 'auth.operationScopes': { ...localSettings['auth.operationScopes'], x: 'orders:write' } },
    'auth.operationScopes: there is no operation x',
  ],
  [sessions('x'), 'auth.sessionOperations: there is no operation x'],
  [{ 'idempotency.requiredOn': ['x'] }, 'idempotency.requiredOn: there is no operation x'],
  [throttling('x'), 'limits.gateway: there is no operation x'],
  [{ 'limits.provisionedConcurrency': { x: 1 } }, 'limits.provisionedConcurrency: there is no operation x'],
  [others('x', 'principal'), 'limits.other: there is no operation x'],
  [ending('x', '2026-07-01'), 'versioning.sunset: there is no operation x'],
  [sessions('codes.list'), 'auth.sessionOperations: codes.list needs a scope, and a session has none'],
  [
    { ...sessions('orders.read'), 'auth.scopes': { 'orders.read': 'orders:read' } },
    'auth.sessionOperations: orders.read needs a scope, and a session has none',
  ],
  [
    ending('orders.read', '2026-06-29'),
    'versioning.sunset: orders.read ends 179 days after its deprecation, but callers are promised 180',
  ],
  [{ 'auth.scopes': { 'codes.read': 'x' } }, 'auth.scopes: codes.read has the fixed scope codes:read'],
  ...(['auth.scopes', 'auth.operationScopes'] as const).map((key): [object, string] => [
    { [key]: { ...localSettings[key], 'login.sign-in': 'x' } },
    `${key}: login.sign-in takes no token, so there is nothing to decide`,
  ]),
  [
    { 'auth.operationScopes': { ...localSettings['auth.operationScopes'], 'codes.hard-delete': 'x' } },
    'auth.operationScopes: codes.hard-delete is not for the role Service, which acts as Editor: say null',
  ],
  [
    { 'auth.serviceRole': { actsAs: 'Viewer' } },
    'auth.operationScopes: orders.create is not for the role Service, which acts as Viewer: say null',
  ],
  [
    { 'auth.mfa': { operations: ['orders.list'], claim: 'amr', value: 'mfa' } },
    'auth.operationScopes: orders.list requires a second factor (auth.mfa), and an API key has none: say null',
  ],
  [
    { 'auth.mfa': { operations: ['otp.request'], claim: 'amr', value: 'mfa' } },
    'auth.mfa: otp.request takes no token, so there is nothing to decide',
  ],
  [sessions('otp.request'), 'auth.sessionOperations: otp.request takes no token'],
  [sessions('orders.create'), 'auth.sessionOperations: orders.create is not for a Viewer'],
  ...['q', 'cart_id', 'force'].map((name): [object, string] => [
    { 'auth.adminTenantParameter': name },
    `auth.adminTenantParameter: ${name} has another meaning for`,
  ]),
  [
    { 'login.scopes': { ...localSettings['login.scopes'], Viewer: ['orders:read'] } },
    'login.scopes: Viewer gets orders:read, which no operation needs: they need codes:read, codes:write',
  ],
  [{ 'idempotency.requiredOn': ['orders.create'] }, 'idempotency.requiredOn: orders.create requires a key'],
  [{ 'idempotency.requiredOn': ['orders.list'] }, 'idempotency.requiredOn: orders.list takes no key'],
  [others('health.read', 'tenant'), 'limits.other: health.read has no tenant to count by'],
  [others('orders.read', 'source'), 'limits.other: orders.read has no secret to hash a source with'],
  [others('health.read', 'principal'), 'limits.other: health.read has no principal to count by'],
  [
    throttling('codes.restore'),
    'limits.gateway: the gateway cannot tell codes.restore and codes.share apart',
  ],
  [
    { 'requests.timeoutHeader': { ...localSettings['requests.timeoutHeader'], minMilliseconds: 300 } },
    'login.refusalMilliseconds: a login takes 900 ms, but requests.timeoutHeader permits a limit of 300 ms',
  ],
])('%j is reported', (changes, problem) => {
  expect(problemsOf(routes, changes)).toContainEqual(expect.stringContaining(`  ${problem}`))
})

test.each([
  ['operations that share a method may have the same throttle', throttling('codes.restore', 'codes.share')],
])('%s', (_, changes) => {
  expect(problemsOf(routes, changes)).toEqual([])
})
