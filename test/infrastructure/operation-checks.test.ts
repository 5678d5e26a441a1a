import { expect, test } from '@jest/globals'
import { type RouteEntry, routes } from '#functions/routes.ts'
import { checkOperations, mailDomainsOutsideIdentity } from '#lib/check-operations.ts'
import type { Settings } from '#shared/settings/register.ts'
import { naming } from '#test/support/naming.ts'
import { localSettings, otherSettings } from '#test/support/settings.ts'
import { thrownBy } from '#test/support/thrown-by.ts'
import { behindDomain, withDomain } from './stage-settings.ts'

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

test('a field that no resource has is reported', () => {
  expect(problemsOf(routes, { 'orders.fields': ['cart_id', 'all'], 'refunds.fields': ['amounts'] })).toEqual([
    expect.stringMatching(/^ {2}orders.fields: all is none of id, tenant_id, cart_id, /),
    expect.stringMatching(/^ {2}refunds.fields: amounts is none of id, charge_id, /),
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
const others = (operation: string, per: 'principal' | 'source') => ({
  'limits.other': { [operation]: [{ ...limit, per }] },
})
test.each<[object, string]>([
  [{ 'auth.mfa': { operations: ['x'], claim: 'amr', value: 'mfa' } }, 'auth.mfa … x'],
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
  [{ 'api.gatewayAddress': 'closed' }, 'api.gatewayAddress … api.domain'],
  [
    { ...withDomain, 'aws.environment': { account: '111122223333', region: 'us-east-1' } },
    'api.domain … eu-west-1 … us-east-1',
  ],
  [sessions('codes.list'), 'auth.sessionOperations … codes.list'],
  [
    { ...sessions('orders.read'), 'auth.scopes': { 'orders.read': 'orders:read' } },
    'auth.sessionOperations … orders.read',
  ],
  [ending('orders.read', '2026-06-29'), 'versioning.sunset … orders.read … 179 … 180'],
  [others('orders.read', 'source'), 'limits.other … orders.read'],
  [others('health.read', 'principal'), 'limits.other … health.read'],
  [throttling('codes.restore'), 'limits.gateway … codes.restore … codes.share'],
  [
    { 'requests.timeoutHeader': { ...localSettings['requests.timeoutHeader'], minMilliseconds: 300 } },
    'login.refusalMilliseconds … 900 … requests.timeoutHeader … 300',
  ],
])('%j is reported', (changes, problem) => {
  expect(problemsOf(routes, changes)).toContainEqual(expect.stringMatching(naming(problem)))
})

test.each([
  ['operations that share a method may have the same throttle', throttling('codes.restore', 'codes.share')],
  ['the address of the gateway may be closed with a domain', behindDomain as Partial<Settings>],
])('%s', (_, changes) => {
  expect(problemsOf(routes, changes)).toEqual([])
})

test('a mail domain that does not contain the sender or the MAIL FROM domain is reported', () => {
  const domain = { identity: 'acme.cloud', mailFrom: 'bounce.acme.dev', verified: true }
  expect(mailDomainsOutsideIdentity({ ...otherSettings, 'mail.domain': domain })).toEqual([
    expect.stringMatching(naming('otp.mail … example.org … acme.cloud')),
    expect.stringMatching(naming('mailFrom … acme.cloud')),
  ])
})

test('a mail domain that contains both is accepted', () => {
  expect(mailDomainsOutsideIdentity(otherSettings)).toEqual([])
})
