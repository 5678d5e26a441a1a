import { describe, expect, test } from '@jest/globals'
import { list, revoke, type SessionLine } from '#bin/commands/sessions.ts'
import { systemClock } from '#shared/platform/base/clock.ts'
import {
  cookiesOf,
  newEmail,
  newSession,
  requestedCode,
  sessionHeaders,
  verifyCode,
} from '#test/support/one-time-codes.ts'
import { outcome } from '#test/support/outcome.ts'
import { startService } from '#test/support/service.ts'
import { localSettings } from '#test/support/settings.ts'

let now = Date.parse('2026-03-01T12:00:00Z')
const clock = { ...systemClock, now: () => now }
const service = await startService({ clock })
const operator = { table: service.table, clock, name: 'jane' }

let keys = 0
const verifyDiscount = (headers: Record<string, string>, as?: { tenant: string; role: string }) =>
  service.call({
    method: 'POST',
    path: '/discount/verify',
    body: { code: 'UNKNOWN' },
    headers: { 'Idempotency-Key': `k${keys++}`, ...headers },
    ...(as && { as }),
  })
const unknown = '401 AUTH.invalid_credentials'
const origin = 'http://localhost:5173'

describe('a session', () => {
  test('is an HttpOnly cookie, with a CSRF token that scripts can read', async () => {
    const { answer } = await newSession(service)
    const value = `${answer.json.session_id}\\.[\\w-]{43}`
    const attributes = 'Max-Age=3600; Path=/; Secure; SameSite=Lax'
    expect(answer.cookies).toEqual([
      expect.stringMatching(new RegExp(`^__Host-session=${value}; ${attributes}; HttpOnly$`)),
      expect.stringMatching(new RegExp(`^csrf_token=[\\w-]{43}; ${attributes}$`)),
    ])
    expect(answer.body).toBe(JSON.stringify({ session_id: answer.json.session_id }))
  })

  test('can verify discounts and nothing else', async () => {
    const { headers } = await newSession(service)
    const verified = await verifyDiscount(headers)
    expect([verified.status, verified.json]).toEqual([200, { applied: false, amount: 0 }])
    for (const path of ['/v1/orders', '/codes'])
      expect(outcome(await service.call({ path, headers }))).toBe(unknown)
  })

  test('expires although it is still stored', async () => {
    const { headers } = await newSession(service)
    now += 3_600_000
    expect(outcome(await verifyDiscount(headers))).toBe('200')
    now += 1
    const over = await verifyDiscount(headers)
    expect([outcome(over), over.headers['WWW-Authenticate']]).toEqual([
      unknown,
      'Bearer realm="commerce-api"',
    ])
  })

  test('is not listed after it was revoked', async () => {
    const { answer } = await newSession(service)
    const { session_id } = answer.json
    await revoke(operator, 'public', session_id)
    const listed: string[] = []
    for await (const line of list(service.table, 'public', clock)) listed.push(line.session_id)
    expect(listed).not.toContain(session_id)
  })

  test('can be revoked by an operator, which is audited', async () => {
    const { headers, answer } = await newSession(service)
    const { session_id } = answer.json
    const lines: SessionLine[] = []
    for await (const line of list(service.table, 'public', clock)) lines.push(line)
    expect(lines.find((line) => line.session_id === session_id)).toMatchObject({ state: 'active' })
    expect(lines.find((line) => line.session_id === session_id)?.valid_until).toBe(
      new Date(now + 3_600_000).toISOString(),
    )
    expect(JSON.stringify(lines)).not.toContain('hash"')
    await revoke(operator, 'public', session_id)
    expect(outcome(await verifyDiscount(headers))).toBe(unknown)
    await expect(revoke(operator, 'public', session_id)).rejects.toThrow('not active')
    await expect(revoke(operator, 'public', crypto.randomUUID())).rejects.toThrow('no such')
    expect(await service.items('public', 'audit')).toContainEqual(
      expect.objectContaining({
        actor_id: 'jane',
        action: 'session.revoke',
        target: `session/${session_id}`,
        result: 'allow',
      }),
    )
  })

  test.each<[string, (cookie: string, other: string) => string]>([
    ['with another secret', (cookie) => cookie.replace(/\.[\w-]{43}/, `.${'A'.repeat(43)}`)],
    [
      'with the secret of another session',
      (cookie, other) => cookie.replace(/\.[\w-]{43}/, `.${/\.([\w-]{43})/.exec(other)?.[1]}`),
    ],
    ['that does not exist', (cookie) => cookie.replace(/=[0-9a-f]{8}/, '=00000000')],
    ['without a secret', (cookie) => cookie.replace(/\.[\w-]{43}/, '')],
    ['with more after the secret', (cookie) => cookie.replace(/\.[\w-]{43}/, '$&.1')],
    ['that is empty', () => '__Host-session='],
    ['that is something else', () => '__Host-session=../../secrets.%00'],
  ])('%s is rejected', async (_, changed) => {
    const [{ headers }, other] = [await newSession(service), await newSession(service)]
    const Cookie = changed(headers.Cookie ?? '', other.headers.Cookie ?? '')
    expect(outcome(await verifyDiscount({ ...headers, Cookie }))).toBe(unknown)
  })

  test('is ignored next to a bearer token, valid or not', async () => {
    const { headers } = await newSession(service)
    expect(outcome(await verifyDiscount({ ...headers, Authorization: 'Bearer nonsense' }))).toBe(unknown)
    const { 'X-CSRF-Token': _, ...without } = headers
    expect(outcome(await verifyDiscount(without, { tenant: 'acme', role: 'Viewer' }))).toBe('200')
  })

  test('has its own idempotency keys', async () => {
    const [one, other] = [await newSession(service), await newSession(service)]
    const key = { 'Idempotency-Key': 'shared' }
    const ask = ({ headers }: typeof one) => verifyDiscount({ ...headers, ...key })
    const answers = [await ask(one), await ask(one), await ask(other)]
    expect(answers.map(({ headers }) => headers['Idempotency-Status'])).toEqual([
      'stored',
      'replayed',
      'stored',
    ])
  })
})

describe('a request with the session cookie', () => {
  test.each<
    [
      string,
      (headers: Record<string, string>, other: Record<string, string>) => Record<string, string>,
      string,
    ]
  >([
    ['with its token is permitted', (own) => own, '200'],
    ['without the token is rejected', ({ 'X-CSRF-Token': _, ...rest }) => rest, '403 AUTHZ.csrf.token'],
    [
      'without the cookie of the token is rejected',
      (own) => ({ ...own, Cookie: own.Cookie?.split(';')[0] ?? '' }),
      '403 AUTHZ.csrf.token',
    ],
    [
      'with the token of another session is rejected',
      (own, other) => ({ ...own, 'X-CSRF-Token': other['X-CSRF-Token'] ?? '' }),
      '403 AUTHZ.csrf.token',
    ],
    [
      'with header and cookie of another session’s token is rejected',
      (own, other) => ({
        'X-CSRF-Token': other['X-CSRF-Token'] ?? '',
        Cookie: `${own.Cookie?.split(';')[0]}; ${other.Cookie?.split('; ')[1]}`,
      }),
      '403 AUTHZ.csrf.token',
    ],
    [
      'with an invented token is rejected',
      (own) => ({ ...own, 'X-CSRF-Token': 'x'.repeat(43) }),
      '403 AUTHZ.csrf.token',
    ],
    [
      'from an allowed origin is permitted',
      (own) => ({ ...own, Origin: origin, 'Sec-Fetch-Site': 'same-site' }),
      '200',
    ],
    [
      'from the origin of the service is permitted',
      (own) => ({ ...own, Origin: 'https://api.example', 'Sec-Fetch-Site': 'same-origin' }),
      '200',
    ],
    [
      'from another site is rejected',
      (own) => ({ ...own, Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' }),
      '403 AUTHZ.csrf.origin',
    ],
    [
      'from another site named by Referer is rejected',
      (own) => ({ ...own, Origin: 'https://evil.example' }),
      '403 AUTHZ.csrf.origin',
    ],
    [
      'from a page without an origin is rejected',
      (own) => ({ ...own, Origin: 'null' }),
      '403 AUTHZ.csrf.origin',
    ],
    [
      'from another site without an origin is rejected',
      (own) => ({ ...own, 'Sec-Fetch-Site': 'cross-site' }),
      '403 AUTHZ.csrf.origin',
    ],
  ])('%s', async (_, changed, expected) => {
    const [own, other] = [await newSession(service), await newSession(service)]
    expect(outcome(await verifyDiscount(changed(own.headers, other.headers)))).toBe(expected)
  })

  test('that is rejected is audited', async () => {
    const { headers } = await newSession(service)
    const { 'X-CSRF-Token': _, ...without } = headers
    const before = await service.items('public', 'audit')
    await verifyDiscount(without)
    const known = new Set(before.map(({ sk }) => sk))
    const [record] = (await service.items('public', 'audit')).filter(({ sk }) => !known.has(sk))
    expect(record).toMatchObject({ role: 'Viewer', result: 'deny', reason: 'AUTHZ.csrf.token' })
  })
})

test('a verification whose response was lost is replayed with its cookies, while its code is valid', async () => {
  const email = newEmail()
  const code = await requestedCode(service, email)
  const headers = { 'Idempotency-Key': 'lost' }
  const first = await verifyCode(service, email, code, { headers })
  const again = await verifyCode(service, email, code, { headers })
  expect([again.body, again.cookies, again.headers['Idempotency-Status']]).toEqual([
    first.body,
    first.cookies,
    'replayed',
  ])
  expect(outcome(await verifyDiscount(sessionHeaders(service, again)))).toBe('200')
  now += 300_001
  const later = await verifyCode(service, email, code, { headers })
  expect([later.status, later.body, later.cookies]).toEqual([200, first.body, []])
  const wrong = await verifyCode(service, email, code)
  expect([wrong.status, cookiesOf(wrong)]).toEqual([400, {}])
})

describe('browsers of other origins', () => {
  const credentials = 'Access-Control-Allow-Credentials'
  const from = (path: string, Origin: string, body?: object) =>
    service.call({ method: body ? 'POST' : 'GET', path, headers: { Origin }, ...(body && { body }) })

  test('can send cookies from allowed origins, only where cookies are used or set', async () => {
    const discount = await from('/discount/verify', origin, { code: 'X' })
    const verification = await from('/otp/verify', origin, { email: newEmail(), code: '1' })
    for (const { headers } of [discount, verification]) {
      expect([headers[credentials], headers['Access-Control-Allow-Origin']]).toEqual(['true', origin])
    }
    for (const answer of [
      await from('/discount/verify', 'https://evil.example', { code: 'X' }),
      await from('/otp/request', origin, { email: newEmail() }),
      await from('/v1/orders', origin),
      await from('/health', origin),
    ])
      expect(answer.headers).not.toHaveProperty(credentials)
  })

  test('learn this from preflight requests', async () => {
    const { preflightHeaders } = await import('#shared/platform/request/respond.ts')
    const headers = preflightHeaders(origin, ['POST'], localSettings, true)
    expect([headers[credentials], headers['Access-Control-Allow-Origin']]).toEqual(['true', origin])
    expect(headers['Access-Control-Allow-Headers']).toMatch(/X-Api-Key, X-CSRF-Token/)
    expect(preflightHeaders(origin, ['POST'], localSettings, false)).not.toHaveProperty(credentials)
    expect(preflightHeaders('https://evil.example', ['POST'], localSettings, true)).toEqual({
      Vary: 'Origin',
    })
  })
})
