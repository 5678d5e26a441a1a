import { describe, expect, test } from '@jest/globals'
import type { APIGatewayProxyEvent } from 'aws-lambda'
import { preflightFunction, toRequest } from '#shared/platform/aws/gateway-event.ts'
import { atPath } from '#shared/platform/request/route.ts'
import { outcome } from '#test/support/outcome.ts'
import { startService } from '#test/support/service.ts'
import { localSettings } from '#test/support/settings.ts'

const service = await startService()
const origin = 'http://localhost:5173'

describe('a request that no endpoint takes', () => {
  test.each([
    ['POST', '/v2/orders'],
    ['POST', '/v1/orders/1:unknown'],
    ['GET', '/codes/1:frob'],
    ['GET', '/constructor'],
  ])('%s %s is 404', async (method, path) => {
    expect(outcome(await service.call({ method, path }))).toBe('404 NOT_FOUND.route')
  })

  test.each([
    ['DELETE', '/v1/orders', 'GET, HEAD, OPTIONS, POST'],
    ['PUT', '/v1/orders/1', 'GET, HEAD, OPTIONS'],
    ['HEAD', '/otp/request', 'OPTIONS, POST'],
    ['TRACE', '/health', 'GET, HEAD, OPTIONS'],
    ['GET', '/operations/1:cancel', 'OPTIONS, POST'],
    ['POST', '/codes:export', 'GET, HEAD, OPTIONS'],
  ])('%s %s is 405 and names the methods of the path', async (method, path, allow) => {
    const answer = await service.call({ method, path })
    expect(outcome(answer)).toBe('405 VALIDATION.method.not_allowed')
    expect(answer.headers.Allow).toBe(allow)
    expect(answer.json.error.details).toEqual({ supported: allow.split(', ') })
  })

  test('has the correlation id of the caller, and CORS headers', async () => {
    const headers = { 'X-Correlation-Id': 'mine', Origin: origin, 'X-Request-Timeout': 'soon' }
    const answer = await service.call({ method: 'DELETE', path: '/v1/orders', headers })
    expect(answer).toMatchObject({
      status: 405,
      headers: { 'X-Correlation-Id': 'mine', 'Access-Control-Allow-Origin': origin },
      json: { error: { correlation_id: 'mine' } },
    })
  })

  test('is logged under one name, without its path', async () => {
    service.lines.length = 0
    await service.call({ method: 'GET', path: '/jane@example.com' })
    expect(service.lines.map(({ operation }) => operation)).toEqual(['platform.unknown-route'])
    expect(JSON.stringify(service.lines)).not.toContain('jane')
  })
})

test.each([
  ['/codes/1', 'id'],
  ['/codes/1:restore', 'restore'],
  ['/codes/1:frob', undefined],
  ['/codes/1/2', undefined],
  ['/codes/', undefined],
  ['/codes/new', 'new'],
])('the path %s is found as %s', (path, found) => {
  expect(atPath(path, { '/codes/{id}': 'id', '/codes/{id}:restore': 'restore', '/codes/new': 'new' })).toBe(
    found,
  )
})

const eventOf = (resource: string, pathParameters: Record<string, string>, headers = {}) =>
  ({
    httpMethod: 'OPTIONS',
    resource,
    path: '/base/x',
    pathParameters,
    headers,
  }) as unknown as APIGatewayProxyEvent

describe('the path of a request', () => {
  test.each([
    ['/{proxy+}', { proxy: 'v2/orders' }, '/v2/orders'],
    ['/codes/{id}', { id: '1%3Arestore' }, '/codes/1:restore'],
    ['/', {}, '/'],
  ])('to %s with %j is %s, without the base path of a domain', (resource, params, path) => {
    expect(toRequest(eventOf(resource, params)).path).toBe(path)
  })
})

describe('a preflight request', () => {
  process.env.METHODS = JSON.stringify({
    '/codes/{id}': ['GET', 'OPTIONS'],
    '/codes/{id}:restore': ['OPTIONS', 'POST'],
  })
  process.env.COOKIE_PATHS = JSON.stringify({ '/codes/{id}:restore': true })
  const answer = preflightFunction(() => localSettings)
  const ask = (id: string) => answer(eventOf('/codes/{id}', { id }, { origin, 'X-Correlation-Id': 'mine' }))

  test.each([
    ['1', 'GET, OPTIONS', undefined],
    ['1:restore', 'OPTIONS, POST', 'true'],
  ])('for %s gets the methods of exactly this path', async (id, methods, credentials) => {
    const { statusCode, headers } = await ask(id)
    expect(statusCode).toBe(204)
    expect(headers).toMatchObject({ Allow: methods, 'Access-Control-Allow-Methods': methods })
    expect(headers?.['Access-Control-Allow-Credentials']).toBe(credentials)
  })

  test('for an unknown path gets 404 in the envelope', async () => {
    const { statusCode, headers, body } = await ask('1:frob')
    expect([statusCode, JSON.parse(body).error.code]).toEqual([404, 'NOT_FOUND.route'])
    expect(headers).toMatchObject({ 'X-Correlation-Id': 'mine', 'Access-Control-Allow-Origin': origin })
  })
})

describe('GET /health', () => {
  test.each([
    ['a query', { path: '/health?probe=1&probe=2&tenant=a%20b' }],
    ['Accept', { headers: { Accept: 'image/png' } }],
    ['a time limit that is no number', { headers: { 'X-Request-Timeout': 'soon' } }],
    ['a short time limit', { headers: { 'X-Request-Timeout': '1' } }],
  ])('is 200 with %s', async (_, call) => {
    expect((await service.call({ path: '/health', ...call })).status).toBe(200)
  })
})
