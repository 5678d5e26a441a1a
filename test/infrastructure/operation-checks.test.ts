import { expect, test } from '@jest/globals'
import { type RouteEntry, routes } from '#functions/routes.ts'
import { checkOperations } from '#lib/check-operations.ts'
import type { Settings } from '#shared/settings/register.ts'
import { localSettings } from '#test/support/settings.ts'
import { thrownBy } from '#test/support/thrown-by.ts'

/** Returns the problems of the local settings with a route table. */
function problemsOf(table: readonly RouteEntry[], changes: Partial<Settings> = {}): string[] {
  const thrown = thrownBy(() => checkOperations({ ...localSettings, ...changes }, table, 'p.json'))
  return thrown instanceof Error ? thrown.message.split('\n').slice(1, -1) : []
}

/** Returns the route table with a copy of `orders.read` on another path. */
function withRoute(operation: string, path: string, sharedFunction?: string): RouteEntry[] {
  const model = routes.find(({ route }) => route.operation === 'orders.read') as RouteEntry
  const entry = { route: { ...model.route, operation, path }, folder: model.folder }
  return [...routes, sharedFunction === undefined ? entry : { ...entry, sharedFunction }]
}
const scopes = { 'auth.operationScopes': { ...localSettings['auth.operationScopes'], 'orders.more': null } }

test('the route table and the shipped profile have no problem', () => {
  expect(problemsOf(routes)).toEqual([])
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
