import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { checkPrerequisites } from '#bin/local/prerequisites.ts'

interface Sent {
  path?: string
  headers?: Record<string, string>
  body?: string
  status?: number
  sentHeaders?: Record<string, string>
  sentBody?: string
}

const program = `
import json, sys
from request_record import request_record
method, path, headers, body, *sent = json.load(sys.stdin)
print(json.dumps(request_record(method, path, headers, body.encode(), *sent)))
`

let python: string
beforeAll(async () => {
  python = (await checkPrerequisites()).python
})

/** Returns the record of a request, as the engine writes it. */
async function recordOf({ path = '/', headers = {}, body = '', ...sent }: Sent) {
  const { status = 200, sentHeaders = {}, sentBody = '' } = sent
  const cwd = join(import.meta.dirname, '../../bin/local')
  const child = spawn(python, ['-B', '-c', program], { cwd, stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(JSON.stringify(['POST', path, headers, body, status, sentHeaders, sentBody]))
  return JSON.parse(await text(child.stdout))
}

describe('the record of a request', () => {
  test('has what the console shows', async () => {
    const envelope = JSON.stringify({ error: { code: 'CONFLICT.version' } })
    const record = await recordOf({
      path: '/v1/orders?page_size=1',
      headers: { 'Idempotency-Key': 'first' },
      body: '{"amount_minor":1}',
      status: 409,
      sentHeaders: { 'X-Correlation-Id': 'c-1', 'Idempotency-Status': 'replayed' },
      sentBody: envelope,
    })
    expect(record).toEqual({
      method: 'POST',
      path: '/v1/orders?page_size=1',
      status: 409,
      error_code: 'CONFLICT.version',
      correlation_id: 'c-1',
      idempotency_status: 'replayed',
      request: { headers: { 'idempotency-key': 'first' }, body: '{"amount_minor":1}', bytes: 18 },
      response: {
        headers: { 'x-correlation-id': 'c-1', 'idempotency-status': 'replayed' },
        body: envelope,
        bytes: envelope.length,
      },
    })
  })

  test.each([
    'Authorization',
    'Cookie',
    'X-Api-Key',
    'X-CSRF-Token',
    'X-Token-Nonce',
    'webhook-signature',
    'X-Any',
  ])('hides the value of the header %s', async (name) => {
    const { request } = await recordOf({ headers: { [name]: 'a-secret' } })
    expect(request.headers).toEqual({ [name.toLowerCase()]: 'hidden' })
  })

  test('hides the cookies of a response', async () => {
    const { response } = await recordOf({ sentHeaders: { 'Set-Cookie': '__Host-session=a-secret' } })
    expect(response.headers).toEqual({ 'set-cookie': 'hidden' })
  })

  const token = `eyJhbGciOiJFUzI1NiJ9.${'a'.repeat(40)}.${'b'.repeat(20)}`
  test.each([
    ['a password', '{"password":"a \\"secret"}', '{"password":"hidden"}'],
    ['a password of a body that is cut off', '{"password": "a secret', '{"password": "hidden"'],
    [
      'tokens',
      '{"access_token":"x","token_type":"Bearer"}',
      '{"access_token":"hidden","token_type":"Bearer"}',
    ],
    ['a member token', '{"token":"x"}', '{"token":"hidden"}'],
    ['a member accessToken', '{"accessToken":"x"}', '{"accessToken":"hidden"}'],
    ['a list', '{"password":["x",["y"]],"a":1}', '{"password":"hidden","a":1}'],
    ['a number', '{"a":[{"password":123456}]}', '{"a":[{"password":"hidden"}]}'],
    ['a name with an escape', String.raw`{"pass\u0077ord":"x"}`, '{"password":"hidden"}'],
    ['a member that is repeated', '{"a":{"password":"x"},"a":1}', '{"a":1}'],
    ['a list of a body that is cut off', '{"a":{"password":["x","y"', '{"a":{"password":"hidden"'],
    ['a number of a body that is cut off', '{"a":{"password":123,"b":', '{"a":{"password":"hidden","b":'],
    ['an escape of a body that is cut off', String.raw`{"pass\u0077ord":"x`, '{"password":"hidden"'],
    [
      'JSON in text',
      String.raw`{"note":"{\"password\":\"x\"}"}`,
      String.raw`{"note":"{\"password\":\"hidden"}`,
    ],
    ['a form', 'a=1&pass%77ord=x&b=2', 'a=1&password=hidden&b=2'],
    [
      'the session of a link',
      '{"url":"https://b/f?X-Amz-Security-Token=ab%2F12&b=2"}',
      '{"url":"https://b/f?X-Amz-Security-Token=hidden&b=2"}',
    ],
    ['a session', '{"session_id":"x"}', '{"session_id":"hidden"}'],
    ['a token in text', `{"note":"${token}"}`, '{"note":"hidden"}'],
    ['an API key in text', '{"note":"ck_a.b-c"}', '{"note":"hidden"}'],
    [
      'the signature of a link',
      '"https://b/f?a=1&X-Amz-Signature=ab12&b=2"',
      '"https://b/f?a=1&X-Amz-Signature=hidden&b=2"',
    ],
    [
      'no other member',
      '{"code":"SUMMER-10","next_cursor":"abc"}',
      '{"code":"SUMMER-10","next_cursor":"abc"}',
    ],
  ])('hides %s in bodies', async (_, body, shown) => {
    const { request } = await recordOf({ body })
    expect(request.body).toBe(shown)
  })

  test('hides secrets in the query', async () => {
    const { path } = await recordOf({ path: `/imports?page_size=1&access_token=abc&x=${token}` })
    expect(path).toBe('/imports?page_size=1&access_token=hidden&x=hidden')
  })

  test.each([
    ['token', 'token=abc', 'token=hidden'],
    ['X-Amz-Security-Token', 'X-Amz-Security-Token=abc', 'X-Amz-Security-Token=hidden'],
    ['password, with an escape', 'pass%77ord=abc', 'password=hidden'],
  ])('hides the parameter %s', async (_, query, shown) => {
    const { path } = await recordOf({ path: `/f?a=1&${query}&b=%26` })
    expect(path).toBe(`/f?a=1&${shown}&b=%26`)
  })

  test('hides a secret behind the part of a long body that is shown', async () => {
    const long = 'a'.repeat(20_000)
    const { request } = await recordOf({ body: `{"password":["${long}"],"b":1}` })
    expect(request.body).toBe('{"password":"hidden","b":1}')
  })

  test('keeps the start of a long body, and its length', async () => {
    const { response } = await recordOf({ sentBody: 'ä'.repeat(20_000) })
    expect(response).toEqual({ headers: {}, body: 'ä'.repeat(8192), bytes: 40_000 })
  })

  test('hides a secret at the end of the start', async () => {
    const { response } = await recordOf({ sentBody: `${' '.repeat(8180)}${token}` })
    expect(response.body).toBe(`${' '.repeat(8180)}hidden`)
  })
})
