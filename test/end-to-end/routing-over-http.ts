import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { describe, expect, test } from '@jest/globals'
import { messageId } from '#shared/error-catalog.ts'
import type { Deployment, Send } from './deployment.ts'

const expiry_at = '2099-01-01T00:00:00Z'
const as = { tenant: 'routed', role: 'Admin', scope: 'codes:read codes:write' }

/** Paths, methods and headers as the gateway passes them on. */
export function routingOverHttp(deployment: () => Deployment): void {
  const send = (path: string, options: Send = {}) => deployment().send(path, { as, ...options })

  describe('a request that no endpoint takes', () => {
    test.each([
      ['GET', '/', '404 NOT_FOUND.route', null],
      ['GET', '/v2/orders', '404 NOT_FOUND.route', null],
      ['POST', '/codes/1:frob', '404 NOT_FOUND.route', null],
      ['GET', '/codes/1/2', '404 NOT_FOUND.route', null],
      ['DELETE', '/v1/orders', '405 VALIDATION.method.not_allowed', 'GET, HEAD, OPTIONS, POST'],
      ['PUT', '/v1/orders/1', '405 VALIDATION.method.not_allowed', 'GET, HEAD, OPTIONS'],
      ['POST', '/health', '405 VALIDATION.method.not_allowed', 'GET, HEAD, OPTIONS'],
      ['POST', '/codes/1', '405 VALIDATION.method.not_allowed', 'DELETE, GET, HEAD, OPTIONS, PATCH, PUT'],
      ['GET', '/codes/1:restore', '405 VALIDATION.method.not_allowed', 'OPTIONS, POST'],
      ['GET', '/operations/1:cancel', '405 VALIDATION.method.not_allowed', 'OPTIONS, POST'],
      ['GET', '/codes:import', '405 VALIDATION.method.not_allowed', 'OPTIONS, POST'],
    ])('%s %s is %s, with the headers of every response', async (method, path, expected, allow) => {
      const { origin } = deployment()
      const answer = await send(path, { method, headers: { 'X-Correlation-Id': 'mine', Origin: origin } })
      const [status, code = ''] = expected.split(' ')
      expect(answer.json.error).toMatchObject({
        code,
        message_id: messageId(code),
        http: Number(status),
        retryable: false,
        correlation_id: 'mine',
        details: allow ? { supported: allow.split(', ') } : {},
      })
      expect(answer.status).toBe(Number(status))
      expect(answer.headers.get('allow')).toBe(allow)
      expect(answer.headers.get('x-correlation-id')).toBe('mine')
      expect(answer.headers.get('access-control-allow-origin')).toBe(origin)
      expect(answer.headers.get('content-security-policy')).toBe("default-src 'self'; frame-ancestors 'none'")
      expect(answer.headers.get('strict-transport-security')).toContain('max-age=31536000')
    })

    test.each([
      ['/codes/1', 'DELETE, GET, HEAD, OPTIONS, PATCH, PUT'],
      ['/codes/1:restore', 'OPTIONS, POST'],
    ])('OPTIONS %s returns the methods of exactly this path', async (path, allow) => {
      expect((await send(path, { method: 'OPTIONS' })).headers.get('allow')).toBe(allow)
    })

    test.each(['/v2/orders', '/codes/1:frob'])('OPTIONS %s is 404', async (path) => {
      expect((await send(path, { method: 'OPTIONS' })).status).toBe(404)
    })
  })

  test('the declared media type of an absent body is ignored', async () => {
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': 'restored' }
    const { path } = await newCode('RESTORED')
    await send(path, { method: 'DELETE' })
    expect((await send(`${path}:restore`, { method: 'POST', headers })).status).toBe(200)
  })

  test('a code is replaced by PUT', async () => {
    const { path, etag } = await newCode('REPLACED')
    const body = { name: 'Replaced', expiry_at }
    const answer = await send(path, { method: 'PUT', headers: { 'If-Match': etag }, body })
    expect([answer.status, answer.json.name]).toEqual([200, 'Replaced'])
  })

  test('health ignores what a monitor adds', async () => {
    const headers = { Accept: 'image/png', 'X-Request-Timeout': 'soon' }
    expect((await send('/health?probe=1&probe=2', { as: null, headers })).status).toBe(200)
  })

  test('HEAD has the headers of GET and no content', async () => {
    const { path } = await newCode('HEADED')
    const [got, head] = [await raw('GET', path), await raw('HEAD', path)]
    expect([head.status, head.text]).toEqual([200, ''])
    for (const name of ['etag', 'content-type', 'content-length']) {
      expect(head.headers[name]).toBe(got.headers[name])
    }
  })

  test.each(['GET', 'HEAD'])('a 304 to %s describes no content', async (method) => {
    const { path, etag } = await newCode(`KNOWN-${method}`)
    const { status, headers, text } = await raw(method, path, { 'If-None-Match': etag })
    expect([status, text]).toEqual([304, ''])
    expect([headers.etag, headers['content-type'], headers['content-length']]).toEqual([
      etag,
      undefined,
      undefined,
    ])
  })

  test('two lines of Idempotency-Key are 400', async () => {
    const { status, text } = await raw('POST', '/codes', { 'Idempotency-Key': ['one', 'two'] })
    expect(status).toBe(400)
    expect(JSON.parse(text).error.code).toBe('VALIDATION.idempotency_key.charset')
  })

  async function newCode(code: string) {
    const body = { code, type: 'percent-10', name: 'Ten off', expiry_at }
    const headers = { 'Idempotency-Key': code }
    const made = await send('/codes', { method: 'POST', headers, body })
    return { path: `/codes/${made.json.id}`, etag: made.headers.get('etag') ?? '' }
  }

  /** Sends a request by node:http, which neither joins lines of headers nor hides those of a response. */
  async function raw(method: string, path: string, headers: Record<string, string | string[]> = {}) {
    const { base_url, token } = deployment()
    const body =
      method === 'POST' && JSON.stringify({ code: 'RAW', type: 'percent-10', name: 'x', expiry_at })
    const sent = request(`${base_url}${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${await token(as)}`,
        ...(body && { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }),
        ...headers,
      },
    })
    sent.end(body || undefined)
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    let text = ''
    for await (const chunk of answer) text += chunk
    return { status: answer.statusCode, headers: answer.headers, text }
  }
}
