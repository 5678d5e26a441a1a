import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { resolved } from '#bin/describe/openapi/components.ts'
import { openapiDocument } from '#bin/describe/openapi.ts'
import { route as createRefund } from '#functions/refunds/create-refund/route.ts'
import { routes } from '#functions/routes.ts'
import { pathRates, tooManyRequestsBody } from '#lib/gateway/rate-rules.ts'
import { isForTenants, pathOf, type Route } from '#shared/platform/request/route.ts'
import { rejections } from '#shared/refunds/settle-refund.ts'
import { discountCalls } from '#test/discounts/discount-calls.ts'
import { newEmail, verifyCode } from '#test/support/one-time-codes.ts'
import { outcome } from '#test/support/outcome.ts'
import { type Answer, type Service, startService } from '#test/support/service.ts'
import { localSettings, otherSettings, profile } from '#test/support/settings.ts'

// biome-ignore lint/suspicious/noExplicitAny: a document of every shape
type Any = any

const page = (file: string) => readFile(join(import.meta.dirname, '../..', file), 'utf8')

function operationsOf(settings = localSettings) {
  const document: Any = openapiDocument(settings)
  const { paths } = resolved(document, document)
  return (route: Pick<Route, 'path' | 'method'>) => paths[pathOf(route, settings)][route.method.toLowerCase()]
}

const operation = operationsOf()
const post = (path: string) => operation({ method: 'POST', path })
const headersOf = (described: Any, status: number) => Object.keys(described.responses[status].headers)
const codesOf = (described: Any, status: number): string[] =>
  described.responses[status]?.description.split(', ') ?? []

let service: Service
beforeAll(async () => {
  service = await startService()
})

describe('a rejection that is stored for a key', () => {
  /** Expects that a response is stored, and that the description of its operation says so. */
  function expectStored(answer: Answer, path: string, settings = localSettings): void {
    const described = operationsOf(settings)({ method: 'POST', path })
    expect(answer.headers['Idempotency-Status']).toBe('stored')
    expect(codesOf(described, answer.status)).toContain(answer.json.error.code)
    expect(headersOf(described, answer.status)).toContain('Idempotency-Status')
  }

  test('is a wrong one-time code', async () => {
    const headers = { 'Idempotency-Key': 'k' }
    const answer = await verifyCode(service, newEmail(), '000000', { headers })
    expect(outcome(answer)).toBe('400 CODE.invalid')
    expectStored(answer, '/otp/verify')
  })

  test('is a code that cannot be combined', async () => {
    const { makeCode, cart, sendEvent, verify } = discountCalls(service)
    await makeCode('carded', 'ALONE', 'percent-10')
    await cart('carded', 'c1', 1000)
    await sendEvent('giftcard.applied', { id: 'c1', tenant_id: 'carded', giftcard_id: 'g1', amount: 5 })
    const answer = await verify('carded', 'ALONE', { 'X-Cart-Id': 'c1' })
    expect(outcome(answer)).toBe('409 CONFLICT.code.not_combinable')
    expectStored(answer, '/discount/verify')
  })

  test('is an unknown code where the deployment returns 404', async () => {
    const settings = profile('shared/settings/profiles/local.json', { 'discount.rejection': { status: 404 } })
    const answer = await discountCalls(await startService({ settings })).verify('acme', 'UNKNOWN')
    expect(outcome(answer)).toBe('404 NOT_FOUND.code')
    expectStored(answer, '/discount/verify', settings)
    const read = operationsOf(settings)({ method: 'GET', path: '/codes/{id}' })
    expect(headersOf(read, 404)).not.toContain('Idempotency-Status')
  })

  test('is each rejection by the payment provider', () => {
    const stored = createRefund.errors.flatMap((error) =>
      typeof error === 'object' && error.stored ? [error.code] : [],
    )
    expect(stored.toSorted()).toEqual(Object.values(rejections).toSorted())
  })

  test.each(['docs/idempotency.md', 'bin/describe/reference/guide.md'])('is named in %s', async (file) => {
    const stored = routes
      .filter(({ route }) => route !== createRefund)
      .flatMap(({ route }) => route.errors.filter((error) => typeof error === 'object' && error.stored))
    expect(stored).toHaveLength(3)
    const text = await page(file)
    for (const error of stored) expect(text).toContain(`\`${(error as { code: string }).code}\``)
  })
})

test('only operations with a key may store a fault', () => {
  for (const { route } of routes) {
    const isDescribed = headersOf(operation(route), 500).includes('Idempotency-Status')
    expect([route.operation, isDescribed]).toEqual([route.operation, route.idempotency !== 'none'])
  }
})

test('a share with another tenant is 403, whatever a read of another tenant is', async () => {
  const as = { tenant: 'acme', role: 'Editor', scope: 'codes:read codes:write' }
  const code = { code: 'SHARED', type: 'percent-10', name: 'Shared', expiry_at: '2099-01-01T00:00:00Z' }
  const headers = { 'Idempotency-Key': 'k' }
  const made = await service.call({ method: 'POST', path: '/codes', as, headers, body: code })
  const path = `/codes/${made.json.id}:share`
  const answer = await service.call({ method: 'POST', path, as, headers, body: { grantee_tenant: 'other' } })
  expect(outcome(answer)).toBe('403 AUTHZ.scope.tenant')
  const share = post('/codes/{id}:share')
  for (const status of [403, 404]) expect(codesOf(share, status)).toContain('AUTHZ.scope.tenant')
  expect(codesOf(operation({ method: 'GET', path: '/codes/{id}' }), 403)).not.toContain('AUTHZ.scope.tenant')
})

test('a parameter that is repeated has a wrong format', async () => {
  const as = { tenant: 'acme', role: 'Editor', scope: 'codes:read' }
  const answer = await service.call({ path: '/codes:export?include_deleted=true&include_deleted=true', as })
  expect(outcome(answer)).toBe('400 VALIDATION.field.format')
  for (const { route } of routes)
    if (!route.listing && !route.ignoresCallerOptions)
      expect([route.operation, codesOf(operation(route), 400)]).toEqual([
        route.operation,
        expect.arrayContaining(['VALIDATION.field.format']),
      ])
})

test.each(routes.map(({ route }) => [route.operation, route] as const))(
  '%s has the refusals of the edge, and of a blocked tenant',
  (_, route) => {
    const codes = codesOf(operation(route), 403)
    expect(codes).toContain('AUTHZ.request.denied')
    const isSignIn = route.operation === 'login.sign-in'
    expect(codes.includes('POLICY.account.locked')).toBe(isSignIn || isForTenants(route))
  },
)

test('a 403 has WWW-Authenticate if another token could be accepted', async () => {
  const as = { tenant: 'acme', role: 'Viewer', scope: 'none' }
  const answer = await service.call({ path: '/codes', as })
  expect(outcome(answer)).toBe('403 AUTHZ.scope.token')
  expect(answer.headers).toHaveProperty('WWW-Authenticate')
  for (const { route } of routes) {
    const described = operation(route)
    const codes = codesOf(described, 403)
    const challenges = codes.includes('AUTHZ.scope.token') || codes.includes('POLICY.mfa.required')
    expect(headersOf(described, 403).includes('WWW-Authenticate')).toBe(challenges)
  }
})

describe('the web ACL', () => {
  test.each(pathRates.filter(({ captcha }) => captcha))('asks for a CAPTCHA at $path', async ({ path }) => {
    for (const text of [post(path).description, await page('docs/behavior.md')])
      expect(text.replaceAll(/[`\n]/g, ' ')).toMatch(/CAPTCHA.*405 with.* x-amzn-waf-action: captcha/)
  })

  test('sends a constant correlation id', async () => {
    const { correlation_id } = JSON.parse(tooManyRequestsBody(localSettings)).error
    expect(await page('docs/behavior.md')).toContain(`constant correlation id \`${correlation_id}\``)
  })

  test('sends the address of the error', () => {
    const { docs } = JSON.parse(tooManyRequestsBody(otherSettings)).error
    expect(docs).toBe(`${otherSettings['errors.docs']}#RATE_LIMIT.exceeded`)
  })
})
