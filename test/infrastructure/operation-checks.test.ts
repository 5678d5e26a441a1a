import { expect, test } from '@jest/globals'
import { type RouteEntry, routes } from '#functions/routes.ts'
import { checkOperations } from '#lib/checks/check-operations.ts'
import type { Settings } from '#shared/settings/register.ts'
import { naming } from '#test/support/naming.ts'
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
    expect.stringMatching(naming('auth.operationScopes … orders.more')),
  ])
})

test('an operation that no API key may use is accepted', () => {
  expect(problemsOf(withRoute('orders.more', '/v1/orders/{id}/more'), scopes)).toEqual([])
})

test('two functions at one method of the gateway are reported', () => {
  expect(problemsOf(withRoute('orders.more', '/v1/orders/{id}:more'), scopes)).toEqual([
    expect.stringMatching(
      naming('functions/routes.ts … orders.read … orders.more … GET /v1/orders/{id} … sharedFunction'),
    ),
  ])
})

test('two names of a variable in one place of a path are reported', () => {
  expect(problemsOf(withRoute('orders.more', '/v1/orders/{order_id}/more'), scopes)).toEqual([
    expect.stringMatching(naming('functions/routes.ts … /v1/orders/{id} … /v1/orders/{order_id}')),
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
  [{ 'auth.mfa': { operations: ['x'], claim: ['amr'], value: 'mfa' } }, 'auth.mfa … x'],
  [{ 'auth.scopes': { x: 'orders:write' } }, 'auth.scopes … x'],
  [
    { 'auth.operationScopes': { ...localSettings['auth.operationScopes'], x: 'orders:write' } },
    'auth.operationScopes … x',
  ],
  [sessions('x'), 'auth.sessionOperations … x'],
  [{ 'idempotency.requiredOn': ['x'] }, 'idempotency.requiredOn … x'],
  [throttling('x'), 'limits.gateway … x'],
  [{ 'limits.provisionedConcurrency': { x: 1 } }, 'limits.provisionedConcurrency … x'],
  [others('x', 'principal'), 'limits.other … x'],
  [ending('x', '2026-07-01'), 'versioning.sunset … x'],
  [sessions('codes.list'), 'auth.sessionOperations … codes.list'],
  [
    { ...sessions('orders.read'), 'auth.scopes': { 'orders.read': 'orders:read' } },
    'auth.sessionOperations … orders.read',
  ],
  [{ 'auth.scopes': { 'codes.read': 'x' } }, 'auth.scopes … codes.read … codes:read'],
  ...(['auth.scopes', 'auth.operationScopes'] as const).map((key): [object, string] => [
    { [key]: { ...localSettings[key], 'login.sign-in': 'x' } },
    `${key} … login.sign-in`,
  ]),
  [
    { 'auth.operationScopes': { ...localSettings['auth.operationScopes'], 'codes.hard-delete': 'x' } },
    'auth.operationScopes … codes.hard-delete … Editor … null',
  ],
  [{ 'auth.serviceRole': { actsAs: 'Viewer' } }, 'auth.operationScopes … orders.create … Viewer … null'],
  [
    { 'auth.mfa': { operations: ['orders.list'], claim: ['amr'], value: 'mfa' } },
    'auth.operationScopes … orders.list … auth.mfa … null',
  ],
  [{ 'auth.mfa': { operations: ['otp.request'], claim: ['amr'], value: 'mfa' } }, 'auth.mfa … otp.request'],
  [sessions('otp.request'), 'auth.sessionOperations … otp.request'],
  [sessions('orders.create'), 'auth.sessionOperations … orders.create … Viewer'],
  ...['q', 'cart_id', 'force'].map((name): [object, string] => [
    { 'auth.adminTenantParameter': name },
    `auth.adminTenantParameter … ${name}`,
  ]),
  [
    { 'login.scopes': { ...localSettings['login.scopes'], Viewer: ['orders:read'] } },
    'login.scopes … Viewer … orders:read … codes:read, codes:write',
  ],
  [{ 'idempotency.requiredOn': ['orders.create'] }, 'idempotency.requiredOn … orders.create'],
  [{ 'idempotency.requiredOn': ['orders.list'] }, 'idempotency.requiredOn … orders.list'],
  [others('health.read', 'tenant'), 'limits.other … health.read'],
  [{ 'orders.fields': ['weight'] }, 'orders.fields … weight … amount_minor'],
  [{ 'refunds.fields': ['weight'] }, 'refunds.fields … weight … amount'],
  [ending('orders.read', '2026-06-29'), 'versioning.sunset … orders.read … 179 … 180'],
  [others('orders.read', 'source'), 'limits.other … orders.read'],
  [others('health.read', 'principal'), 'limits.other … health.read'],
  [throttling('codes.restore'), 'limits.gateway … codes.restore … codes.share'],
  [
    { 'requests.timeoutHeader': { ...localSettings['requests.timeoutHeader'], minMilliseconds: 300 } },
    'requests.timeoutHeader … 300 … 900',
  ],
])('%j is reported', (changes, problem) => {
  expect(problemsOf(routes, changes)).toContainEqual(expect.stringMatching(naming(problem)))
})

test('operations that share a method may have the same throttle', () => {
  const sharing = routes.filter(({ sharedFunction }) => sharedFunction === 'codes/act-on-code')
  expect(problemsOf(routes, throttling(...sharing.map(({ route }) => route.operation)))).toEqual([])
})
