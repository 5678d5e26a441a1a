import { afterAll, describe, expect, test } from '@jest/globals'
import { routes } from '#functions/routes.ts'
import { ratesBelowThrottles } from '#lib/check-operations.ts'
import { pathOf } from '#shared/platform/request/route.ts'
import { exampleOf } from '#test/support/examples.ts'
import {
  startIdentityProvider,
  useIdentityProvider,
} from '#test/support/identity-provider/identity-provider.ts'
import { startService } from '#test/support/service.ts'
import { localSettings, otherSettings } from '#test/support/settings.ts'
import { commonRules, type InspectedRequest } from './managed-rules.ts'
import { type Resource, resourceNamed, synthesise } from './synthesis.ts'
import { matches } from './web-acl-statements.ts'

const { template } = await synthesise('prod')
const rules = resourceNamed(template, 'AWS::WAFv2::WebACL', 'WebAcl').Properties
  .Rules as Resource['Properties'][]
const common = rules.find(({ Name }) => Name === 'CommonRules')?.Statement.ManagedRuleGroupStatement
const counted = new Set(common.RuleActionOverrides.map(({ Name }: { Name: string }) => Name))

/** Returns the AWS rules that would block a request, without those that only count. */
function blockedBy(request: Partial<InspectedRequest>): string[] {
  const complete = { method: 'GET', path: '/v1/orders', query: '', headers: {}, body: '', ...request }
  return commonRules.flatMap(({ name, matches }) => (matches(complete) && !counted.has(name) ? [name] : []))
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

describe('an anonymous request is counted by source address', () => {
  const anonymous = rules.find(({ Name }) => Name === 'AnonymousRequests')?.Statement.RateBasedStatement
  const isCounted = (request: Partial<InspectedRequest>) =>
    matches(anonymous.ScopeDownStatement, {
      method: 'GET',
      path: '/v1/orders',
      query: '',
      headers: {},
      body: '',
      ...request,
    })
  const credentials = [{ authorization: 'Bearer x' }, { 'x-api-key': 'k' }, { cookie: '__Host-session=s' }]

  test('with the limit of the profile', () => {
    expect(anonymous).toMatchObject({ AggregateKeyType: 'IP', Limit: 3000, EvaluationWindowSec: 60 })
  })

  test.each(routes.filter(({ route }) => route.auth === 'none'))(
    'on $route.operation, whatever credential it carries',
    ({ route }) => {
      const path = pathOf(route, localSettings)
      const encoded = `/%${path.charCodeAt(1).toString(16)}${path.slice(2)}`
      const requests = [path, `${path}/`, `/prod${path}`, encoded].map((one) => ({ path: one }))
      expect(requests.map(isCounted)).toEqual([true, true, true, true])
      expect(credentials.map((headers) => isCounted({ path, headers }))).toEqual([true, true, true])
    },
  )

  test.each(routes.filter(({ route }) => route.auth === 'bearer'))(
    'on $route.operation only without a credential',
    ({ route }) => {
      const path = pathOf(route, localSettings).replace(/\{\w+\}/, 'a1')
      expect(credentials.map((headers) => isCounted({ path, headers }))).toEqual([false, false, false])
      expect(isCounted({ path })).toBe(true)
      expect(isCounted({ path, headers: { authorization: '' } })).toBe(true)
      expect(isCounted({ path, headers: { cookie: 'other=1' } })).toBe(true)
    },
  )

  test.each(routes.filter(({ route }) => route.auth === 'signature'))(
    'but never on $route.operation, which is signed',
    ({ route }) => {
      const path = pathOf(route, localSettings)
      expect([path, `${path}/`, `/prod${path}`].map((one) => isCounted({ path: one }))).toEqual([
        false,
        false,
        false,
      ])
      expect(isCounted({ path: `/a/b${path}` })).toBe(true)
    },
  )

  test('on an unknown path', () => {
    expect(isCounted({ path: '/wp-login.php' })).toBe(true)
  })
})

describe('a sender who invents a credential for each request', () => {
  const addresses = rules.find(({ Name }) => Name === 'Addresses')?.Statement.RateBasedStatement
  const { requestsPerSecond } = localSettings['limits.gateway']

  test('is limited by source address, below the rate of the gateway', () => {
    expect(addresses).toMatchObject({ AggregateKeyType: 'IP', Limit: 12_000, EvaluationWindowSec: 60 })
    expect(addresses.Limit / addresses.EvaluationWindowSec).toBeLessThan(requestsPerSecond)
  })

  test.each(routes.filter(({ route }) => route.auth !== 'signature'))(
    'is counted on $route.operation',
    ({ route }) => {
      const path = pathOf(route, localSettings).replace(/\{\w+\}/, 'a1')
      const request = { method: route.method, path, query: '', body: '' }
      const headers = [{ authorization: 'Bearer x' }, { 'x-api-key': 'k' }, { cookie: '__Host-session=s' }]
      const counted = headers.map((one) =>
        matches(addresses.ScopeDownStatement, { ...request, headers: one }),
      )
      expect(counted).toEqual([true, true, true])
    },
  )

  test('is not counted on signed webhooks, which come from few addresses', () => {
    const request = { method: 'POST', path: '/v1/webhooks/events', query: '', headers: {}, body: '' }
    expect(matches(addresses.ScopeDownStatement, request)).toBe(false)
  })
})

describe('limits.webAcl', () => {
  test.each([localSettings, otherSettings])('is above the throttles of the service', (settings) => {
    expect(ratesBelowThrottles(settings, routes)).toEqual([])
  })

  test('below a throttle of the service is rejected', () => {
    const logins = { requests: 50, windowSeconds: 300 } as const
    const settings = { ...localSettings, 'limits.webAcl': { ...localSettings['limits.webAcl'], logins } }
    expect(ratesBelowThrottles(settings, routes)).toEqual([
      expect.stringMatching(/^logins allows 50 requests in 300 s, but login\.sign-in itself allows \d+/),
    ])
  })

  test('for anonymous requests below a throttle of the service is rejected', () => {
    const anonymous = { requests: 10, windowSeconds: 60 } as const
    const settings = {
      ...localSettings,
      'limits.webAcl': { ...localSettings['limits.webAcl'], anonymous },
    }
    expect(ratesBelowThrottles(settings, routes)).toContainEqual(
      expect.stringMatching(/^anonymous allows 10 requests in 60 s, but login\.sign-in itself allows \d+/),
    )
  })
})
