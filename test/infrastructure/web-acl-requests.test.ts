import { afterAll, describe, expect, test } from '@jest/globals'
import { routes } from '#functions/routes.ts'
import { ratesBelowThrottles } from '#lib/checks/check-operations.ts'
import { pathOf } from '#shared/platform/request/route.ts'
import { exampleOf } from '#test/support/examples.ts'
import {
  startIdentityProvider,
  useIdentityProvider,
} from '#test/support/identity-provider/identity-provider.ts'
import { startService } from '#test/support/service.ts'
import { localSettings, otherSettings } from '#test/support/settings.ts'
import { commonRules, type InspectedRequest } from './managed-rules.ts'
import { propertiesOf, type Resource, templatesOf } from './synthesis.ts'
import { matches } from './web-acl-statements.ts'

const { template } = await templatesOf('prod')
const rules: Resource['Properties'][] = propertiesOf(template, 'WebAcl').Rules
const ruleNamed = (name: string) => rules.find(({ Name }) => Name === name)?.Statement
const { RuleActionOverrides: overrides } = ruleNamed('CommonRules').ManagedRuleGroupStatement
const counted = new Set(
  overrides.flatMap(({ Name, ActionToUse }: Resource['Properties']) => (ActionToUse.Count ? Name : [])),
)
const plain = { method: 'GET', path: '/v1/orders', query: '', headers: {}, body: '' }

/** Returns the AWS rules that would block a request, without those that only count. */
function blockedBy(request: Partial<InspectedRequest>): string[] {
  return commonRules.flatMap(({ name, matches }) =>
    matches({ ...plain, ...request }) && !counted.has(name) ? [name] : [],
  )
}

const provider = await startIdentityProvider()
useIdentityProvider(provider)
const service = await startService()
afterAll(() => provider.stop())

test.each(routes)('the example of $route.operation passes', async ({ route }) => {
  const { path, headers, body } = await exampleOf(route, service, 'acme')
  const [pathname = '', query = ''] = path.split('?')
  const text = typeof body === 'string' ? body : JSON.stringify(body ?? '')
  expect(blockedBy({ method: route.method, path: pathname, query, headers, body: text })).toEqual([])
})

// The functions check bodies.
test.each([['x'.repeat(8193)], ['<script>']])('a request with the body %s passes', (body) => {
  expect(blockedBy({ method: 'POST', body })).toEqual([])
})

describe('a list query passes', () => {
  test('with the maximum number of ids in a filter, and a cursor', async () => {
    const ids = Array.from({ length: 50 }, () => crypto.randomUUID()).join(',')
    const parameters = { 'id.in': ids, cursor: 'x'.repeat(1024), page_size: '100' }
    const query = String(new URLSearchParams(parameters))
    expect(query.length).toBeGreaterThan(2048)
    expect(blockedBy({ query })).toEqual([])
  })

  test.each(['../etc/passwd', 'http://10.0.0.1/a', 'error.log', '<script>', '169.254.169.254'])(
    'with a search for %s',
    async (q) => {
      const query = String(new URLSearchParams({ q }))
      const { status } = await service.call({ path: `/v1/orders?${query}`, as: { role: 'Viewer' } })
      expect(status).toBe(200)
      expect(blockedBy({ query })).toEqual([])
    },
  )
})

test('requests unlike any documented one are still blocked', () => {
  expect(blockedBy({ path: '/v1/../etc/passwd' })).toEqual(['GenericLFI_URIPATH'])
})

/** Whether a rule that limits source addresses counts a request. */
function isCounted(name: string, request: Partial<InspectedRequest>): boolean {
  const { AggregateKeyType: by, ScopeDownStatement: scope } = ruleNamed(name).RateBasedStatement
  return by === 'IP' && matches(scope, { ...plain, ...request })
}
const credentials = [{ authorization: 'Bearer x' }, { 'x-api-key': 'k' }, { cookie: '__Host-session=s' }]
const requestsWith = (auth: string) =>
  routes.flatMap(({ route }) => {
    const { method, operation } = route
    const path = pathOf(route, localSettings).replace(/\{\w+\}/, 'a1')
    const encoded = `/%${path.charCodeAt(1).toString(16)}${path.slice(2)}`
    return route.auth === auth ? [{ operation, method, path, encoded }] : []
  })

describe('an anonymous request is counted by source address', () => {
  const isAnonymous = (request: Partial<InspectedRequest>) => isCounted('AnonymousRequests', request)

  test.each(requestsWith('none'))('on $operation, whatever credential it carries', ({ path, encoded }) => {
    for (const one of [path, `${path}/`, `/prod${path}`, encoded])
      expect(isAnonymous({ path: one })).toBe(true)
    for (const headers of credentials) expect(isAnonymous({ path, headers })).toBe(true)
  })

  test.each(requestsWith('bearer'))('on $operation only without a credential', ({ path }) => {
    for (const headers of credentials) expect(isAnonymous({ path, headers })).toBe(false)
    for (const headers of [{}, { authorization: '' }, { cookie: 'other=1' }])
      expect(isAnonymous({ path, headers })).toBe(true)
  })

  test.each(requestsWith('signature'))('but never on $operation, which is signed', ({ path }) => {
    for (const one of [path, `${path}/`, `/prod${path}`]) expect(isAnonymous({ path: one })).toBe(false)
    expect(isAnonymous({ path: `/a/b${path}` })).toBe(true)
  })

  test('on an unknown path', () => {
    expect(isAnonymous({ path: '/wp-login.php' })).toBe(true)
  })
})

describe('a sender who invents a credential or a signature for each request', () => {
  test.each(['Addresses', 'Webhooks'])('is limited below the rate of the gateway by %s', (name) => {
    const { Limit: limit, EvaluationWindowSec: seconds } = ruleNamed(name).RateBasedStatement
    expect(limit / seconds).toBeLessThan(localSettings['limits.gateway'].requestsPerSecond)
  })

  test.each([...requestsWith('none'), ...requestsWith('bearer')])(
    'is counted on $operation',
    ({ method, path }) => {
      for (const headers of credentials) expect(isCounted('Addresses', { method, path, headers })).toBe(true)
    },
  )

  test.each(requestsWith('signature'))(
    'is counted apart on $operation, which few addresses call',
    ({ method, path }) => {
      const counts = ['Addresses', 'Webhooks'].map((name) => isCounted(name, { method, path }))
      expect(counts).toEqual([false, true])
    },
  )
})

describe('limits.webAcl', () => {
  test.each([localSettings, otherSettings])('is above the throttles of the service', (settings) => {
    expect(ratesBelowThrottles(settings, routes)).toEqual([])
  })

  test.each([
    ['logins', 50, 300],
    ['anonymous', 10, 60],
  ])('for %s below a throttle of the service is rejected', (name, requests, windowSeconds) => {
    const limits = { ...localSettings['limits.webAcl'], [name]: { requests, windowSeconds } }
    expect(ratesBelowThrottles({ ...localSettings, 'limits.webAcl': limits }, routes)).toContainEqual(
      expect.stringMatching(
        `^${name} allows ${requests} requests in ${windowSeconds} s, but login\\.sign-in itself allows \\d+`,
      ),
    )
  })
})
