import { createHmac, createSecretKey } from 'node:crypto'
import { beforeEach, describe, expect, test } from '@jest/globals'
import { newId, timeOf, timestamp } from '#shared/platform/base/clock.ts'
import type { HttpRequest } from '#shared/platform/base/http.ts'
import {
  type ApiKeyItem,
  apiKeyText,
  makeApiKey,
  readApiKey,
  verifyApiKey,
} from '#shared/platform/identity/api-key.ts'
import { principalOf, roleFromClaim, sourceOf } from '#shared/platform/identity/caller.ts'
import {
  checkCsrf,
  cookieOf,
  csrfCookie,
  csrfTokenOf,
  readSessionCookie,
  revokeSession,
  type SessionItem,
  sessionCookie,
  sessionCookies,
  sessionIssuer,
  sessionOf,
  sessionSecret,
  startSession,
  verifySession,
} from '#shared/platform/identity/session.ts'
import { signingKeys, verifySender } from '#shared/platform/identity/signature.ts'
import type { Settings } from '#shared/settings/register.ts'
import { tenantNamePattern } from '#shared/settings/tenant-name.ts'
import { codeOf } from '#test/idempotency/scripted-run.ts'
import { memoryRuntime } from '#test/support/memory-runtime.ts'
import { localSettings } from '#test/support/settings.ts'
import { thrownBy } from '#test/support/thrown-by.ts'

const runtime = memoryRuntime()
const { clock, table } = runtime
const requestOf = (headers: Record<string, string>, changes: Partial<HttpRequest> = {}): HttpRequest => ({
  method: 'POST',
  path: '/',
  params: {},
  query: [],
  headers,
  body: undefined,
  sourceAddress: '192.0.2.1',
  ...changes,
})
const invalid = (scheme: string) => ({
  code: 'AUTH.invalid_credentials',
  headers: { 'WWW-Authenticate': `${scheme} realm="commerce-api"` },
})

describe('an API key', () => {
  const secret = new Uint8Array(32).fill(7)
  const key_id = newId(clock)
  const created_at = timestamp(clock.now())
  const { text, item } = makeApiKey({ tenant: 'a.b', key_id, name: 'n', scopes: ['s'], created_at }, secret)
  const parts = { tenant: 'a.b', key_id, secret: Buffer.from(secret).toString('base64url') }
  const store = (changes: Partial<ApiKeyItem> = {}) =>
    table.put({ item: { ...item, ...changes }, condition: 'none' })
  const verify = (key = text, now = clock.now()) => verifyApiKey(key, table, now)
  beforeEach(() => store())

  test('has the parts of its text', () => {
    expect(text).toBe(`ck_a.b.${key_id}.${parts.secret}`)
    expect(readApiKey(text)).toEqual(parts)
  })

  test('is stored as a hash', () => {
    expect(item).toMatchObject({ key_id, tenant_id: 'a.b', name: 'n', scopes: ['s'], state: 'active' })
    expect(item.last4).toBe(text.slice(-4))
    expect(JSON.stringify(item)).not.toContain(parts.secret)
  })

  const long = (length: number) => {
    const tenant = 'a'.repeat(length - apiKeyText({ ...parts, tenant: '' }).length)
    return readApiKey(apiKeyText({ ...parts, tenant }))
  }

  test.each<[string, string]>([
    ['another prefix', text.replace('ck_', 'sk_')],
    ['no tenant', apiKeyText({ ...parts, tenant: '' })],
    ['a tenant with other characters', apiKeyText({ ...parts, tenant: 'a#b' })],
    ['an id of another form', apiKeyText({ ...parts, key_id: 'x' })],
    ['a short secret', text.slice(0, -1)],
    ['a long secret', `${text}x`],
    ['no parts', 'ck_'],
    ['a tenant of 65 characters', apiKeyText({ ...parts, tenant: 'a'.repeat(65) })],
  ])('is malformed with %s', (_, malformed) => {
    expect(readApiKey(malformed)).toBeUndefined()
  })

  test('is as long as its longest tenant allows', () => {
    expect(long(64 + apiKeyText({ ...parts, tenant: '' }).length)).toMatchObject({ tenant: 'a'.repeat(64) })
  })

  test('is a caller of the role Service in its tenant, with its scopes', async () => {
    const sub = `api-key:${key_id}`
    expect(await verify()).toEqual({
      sub,
      tenant: 'a.b',
      role: 'Service',
      scopes: new Set(['s']),
      apiKey: key_id,
      claims: { iss: 'urn:commerce-api:api-keys', sub },
    })
  })

  test('that replaced another one is a caller with the principal of that one', async () => {
    const principal_id = newId(clock)
    await store({ principal_id })
    const { sub, apiKey, claims } = await verify()
    const expected = `api-key:${principal_id}`
    expect({ sub, apiKey, claimed: claims.sub }).toEqual({ sub: expected, apiKey: key_id, claimed: expected })
  })

  test('keeps the principal that it is created with', () => {
    const named = { tenant: 't', key_id, principal_id: 'first', name: 'n', scopes: [], created_at }
    expect(makeApiKey(named, secret).item.principal_id).toBe('first')
  })

  test.each<[string, Partial<ApiKeyItem>]>([
    ['is revoked', { state: 'revoked' }],
    ['has another hash', { secret_hash: item.secret_hash.replace(/^./, (one) => (one === 'A' ? 'B' : 'A')) }],
    ['has a hash of another length', { secret_hash: 'x' }],
  ])('that %s is rejected', async (_, changes) => {
    await store(changes)
    await expect(verify()).rejects.toMatchObject(invalid('ApiKey'))
  })

  test('is valid until its end', async () => {
    const end = clock.now()
    await store({ state: 'ending', valid_until: timestamp(end) })
    expect(await verify(text, end)).toBeDefined()
    expect(await codeOf(verify(text, end + 1))).toBe('AUTH.invalid_credentials')
  })

  test.each([
    ['unknown', apiKeyText({ ...parts, tenant: 'other' })],
    ['malformed', 'x'],
  ])('that is %s is rejected', async (_, key) => {
    await expect(verify(key)).rejects.toMatchObject(invalid('ApiKey'))
  })
})

describe('a session', () => {
  const settings: Settings = {
    ...localSettings,
    'auth.publicTenant': 'shop',
    'auth.csrf': { header: 'X-Csrf', status: 419 },
    'cors.allowedOrigins': ['https://shop.example'],
  }
  const key = createSecretKey(new Uint8Array(32).fill(1))
  const session_id = newId(clock)
  const until = clock.now() + 1500
  const login = ['jane@example.com', '123456']
  const session = sessionOf(key, { session_id, login, tenant_id: 'shop', user_id: 'u9', until })
  const credential = { session_id, secret: sessionSecret(key, { session_id, login }) }
  const cookie = `${sessionCookie}=${session_id}.${credential.secret}`
  const store = (changes: Partial<SessionItem> = {}) =>
    table.put({ item: { ...session, ...changes } as never, condition: 'none' })
  const verify = (headers: Record<string, string> = { cookie }, now = until) =>
    verifySession(requestOf(headers), table, settings, now)
  beforeEach(() => store())

  test('starts at the time of its id', () => {
    expect(session).toMatchObject({
      session_id,
      tenant_id: 'shop',
      user_id: 'u9',
      state: 'active',
      started_at: timestamp(timeOf(session_id)),
      valid_until: until,
    })
  })

  test('expires in the table after its end, in whole seconds', () => {
    expect(session.expires_at).toBe(Math.floor(clock.now() / 1000) + 2)
  })

  test('is stored without its secret', () => {
    expect(JSON.stringify(session)).not.toContain(credential.secret)
  })

  test('is never stored twice', () => {
    expect(startSession(session)).toMatchObject({ item: session, condition: { absent: true } })
  })

  test('is revoked once', async () => {
    const revoke = revokeSession('shop', session_id)
    expect(await table.transact([revoke])).toBeUndefined()
    await expect(verify()).rejects.toMatchObject(invalid('Bearer'))
    expect(await table.transact([revoke])).toMatchObject({ index: 0 })
  })

  test('is a cookie that scripts cannot read, with a CSRF token that they can', () => {
    const attributes = 'Max-Age=60; Path=/; Secure; SameSite=Lax'
    expect(sessionCookies(credential, 60)).toEqual([
      `${cookie}; ${attributes}; HttpOnly`,
      `${csrfCookie}=${csrfTokenOf(credential)}; ${attributes}`,
    ])
  })

  test('is a Viewer of the public tenant', async () => {
    expect(await verify()).toEqual({
      sub: 'u9',
      tenant: 'shop',
      role: 'Viewer',
      scopes: new Set(),
      claims: { iss: sessionIssuer, sub: 'u9', sid: session_id },
    })
  })

  test('is over after its end', async () => {
    await expect(verify({ cookie }, until + 1)).rejects.toMatchObject(invalid('Bearer'))
  })

  test.each<[string, Record<string, string>]>([
    ['another secret', { cookie: `${sessionCookie}=${session_id}.${'x'.repeat(43)}` }],
    ['a short secret', { cookie: cookie.slice(0, -1) }],
    ['a long secret', { cookie: `${cookie}x` }],
    ['an unknown id', { cookie: `${sessionCookie}=${newId(clock)}.${credential.secret}` }],
    ['a malformed id', { cookie: `${sessionCookie}=x.${credential.secret}` }],
  ])('is rejected with %s', async (_, headers) => {
    await expect(verify(headers)).rejects.toMatchObject(invalid('Bearer'))
  })

  test('is named if its cookie is missing, as clients drop it on http', async () => {
    const details = { missing_cookie: sessionCookie }
    await expect(verify({ cookie: 'a=1' })).rejects.toMatchObject({ ...invalid('Bearer'), details })
  })

  test.each([
    ['a short secret', cookie.slice(0, -1)],
    ['a long secret', `${cookie}x`],
    ['a secret after another character', cookie.replace('.', '.!')],
    ['a malformed id', `${sessionCookie}=x.${credential.secret}`],
    ['no secret', `${sessionCookie}=${session_id}`],
  ])('with %s is not looked up', (_, malformed) => {
    expect(readSessionCookie({ cookie: malformed })).toBeUndefined()
  })

  test('is found among other cookies', () => {
    const headers = { cookie: `a=1;  ${cookie}; ${sessionCookie}=second; b` }
    expect(readSessionCookie(headers)).toEqual(credential)
    expect(readSessionCookie({ cookie: `x${cookie}` })).toBeUndefined()
  })

  test('is not found in the value of another cookie, which any subdomain may set', () => {
    expect(readSessionCookie({ cookie: `a=1,${cookie}` })).toBeUndefined()
  })

  test('may have a value with an equals sign', () => {
    expect(cookieOf({ cookie: 'a=b=c' }, 'a')).toBe('b=c')
    expect(cookieOf({}, 'a')).toBeUndefined()
  })

  describe('that changes something', () => {
    const caller = { sub: 'u9', tenant: 'shop', role: 'Viewer', scopes: new Set<string>() } as const
    const token = csrfTokenOf(credential)
    const proof = { cookie: `${cookie}; ${csrfCookie}=${token}`, 'x-csrf': token }
    const check = (headers: Record<string, string>, method = 'POST', iss = sessionIssuer) =>
      thrownBy(() => checkCsrf(requestOf(headers, { method }), { ...caller, claims: { iss } }, settings))

    test('needs its token in the header and in the cookie', () => {
      expect(check(proof)).toBeUndefined()
    })

    test.each<[string, Record<string, string>]>([
      ['no header', { cookie: proof.cookie }],
      ['another header', { ...proof, 'x-csrf': token.replace(/^./, (one) => (one === 'x' ? 'y' : 'x')) }],
      ['a short header', { ...proof, 'x-csrf': token.slice(1) }],
      ['no token cookie', { ...proof, cookie }],
      ['another token cookie', { ...proof, cookie: `${cookie}; ${csrfCookie}=x` }],
      ['no session cookie', { ...proof, cookie: `${csrfCookie}=${token}` }],
    ])('is rejected with %s', (_, headers) => {
      expect(check(headers)).toMatchObject({ code: 'AUTHZ.csrf.token', http: 419 })
    })

    test.each<[string, Record<string, string>, boolean]>([
      ['of the same origin', { 'sec-fetch-site': 'same-origin', origin: 'https://evil.example' }, true],
      ['of an allowed origin', { 'sec-fetch-site': 'cross-site', origin: 'https://shop.example' }, true],
      ['of another origin', { origin: 'https://evil.example' }, false],
      ['of the user', { 'sec-fetch-site': 'none' }, true],
      ['of another site', { 'sec-fetch-site': 'cross-site' }, false],
    ])('%s: accepted %j', (_, headers, accepted) => {
      const rejection = { code: 'AUTHZ.csrf.origin', http: 419 }
      expect(check({ ...proof, ...headers })).toEqual(
        accepted ? undefined : expect.objectContaining(rejection),
      )
    })

    test.each(['GET', 'HEAD'])('is not meant by %s', (method) => {
      expect(check({}, method)).toBeUndefined()
    })

    test.each(['xGET', 'GETx', 'HEADER'])('is meant by a method such as %s', (method) => {
      expect(check({}, method)).toBeDefined()
    })

    test('needs no token from other callers', () => {
      expect(check({}, 'POST', 'another issuer')).toBeUndefined()
      expect(thrownBy(() => checkCsrf(requestOf({}), undefined, settings))).toBeUndefined()
    })
  })
})

describe('a signature of a webhook', () => {
  const settings: Settings = {
    ...localSettings,
    'webhooks.scheme': {
      idHeader: 'Webhook-Id',
      timestampHeader: 'Webhook-Timestamp',
      signatureHeader: 'Webhook-Signature',
      digest: 'sha256',
      prefix: 'v1,',
    },
    'webhooks.windowSeconds': 300,
  }
  const [one, two] = [Buffer.from('first key'), Buffer.from('second key')]
  const secret = `whsec_${one.toString('base64')} ${two.toString('base64')}`
  const now = 1_800_000_000_000
  const body = new TextEncoder().encode('{"a":1}')
  const sign = (key: Buffer, { id = 'evt_1', at = '1800000000', of = body as Uint8Array | string } = {}) =>
    `v1,${createHmac('sha256', key).update(`${id}.${at}.`).update(of).digest('base64')}`
  const signedAs = ({ id = 'evt_1', at = '1800000000' }) => {
    const signature = sign(one, { id, at })
    return { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature }
  }
  const verify = (changes: Record<string, string> = {}, at = now, sent: Uint8Array | null = body) => {
    const request = requestOf({ ...signedAs({}), ...changes }, { body: sent ?? undefined })
    return verifySender(request, async () => secret, settings, at).catch((thrown: unknown) => thrown)
  }
  const rejection = expect.objectContaining(invalid('Signature'))

  test('by either key is accepted', async () => {
    expect(await verify()).toBeUndefined()
    expect(await verify({ 'webhook-signature': sign(two) })).toBeUndefined()
  })

  test('is accepted among others', async () => {
    expect(await verify({ 'webhook-signature': `v1a,x v1, ${sign(one)}` })).toBeUndefined()
  })

  test('counts among the first sixteen only', async () => {
    const others = (count: number) => Array(count).fill('v1,eA==').join(' ')
    expect(await verify({ 'webhook-signature': `${others(15)} ${sign(one)}` })).toBeUndefined()
    expect(await verify({ 'webhook-signature': `${others(16)} ${sign(one)}` })).toEqual(rejection)
  })

  test('of an empty body is accepted', async () => {
    expect(await verify({ 'webhook-signature': sign(one, { of: '' }) }, now, null)).toBeUndefined()
  })

  test.each<[string, Record<string, string>]>([
    ['another key', { 'webhook-signature': sign(Buffer.from('third key')) }],
    ['another id', { 'webhook-id': 'evt_2' }],
    ['another time', { 'webhook-timestamp': '1800000001' }],
    ['another scheme', { 'webhook-signature': sign(one).replace('v1,', 'v2,') }],
    ['no signature', { 'webhook-signature': '' }],
    ['no id', signedAs({ id: '' })],
    ['an id with a space', signedAs({ id: 'evt 1' })],
    ['an id of 256 characters', signedAs({ id: 'e'.repeat(256) })],
    ['a time with a sign', signedAs({ at: '+1800000000' })],
    ['a time with a unit', signedAs({ at: '1800000000s' })],
  ])('with %s is rejected', async (_, changes) => {
    expect(await verify(changes)).toEqual(rejection)
  })

  test('with an id of 255 characters is accepted', async () => {
    expect(await verify(signedAs({ id: 'e'.repeat(255) }))).toBeUndefined()
  })

  test('of another body is rejected', async () => {
    expect(await verify({}, now, new TextEncoder().encode('{"a":2}'))).toEqual(rejection)
  })

  test.each([-300, 300])('is accepted %d seconds from its time', async (seconds) => {
    expect(await verify({}, now + seconds * 1000)).toBeUndefined()
  })

  test.each([-301, 301])('is rejected %d seconds from its time', async (seconds) => {
    expect(await verify({}, now + seconds * 1000)).toEqual(rejection)
  })
})

describe('the webhook secret', () => {
  const text = (key: string) => Buffer.from(key).toString('base64')

  test('holds keys in order, separated by spaces or commas', () => {
    const keys = signingKeys(` whsec_${text('a')},  ${text('bc')} ,${text('def')}`)
    expect(keys.map(String)).toEqual(['a', 'bc', 'def'])
  })

  test('may leave out the padding', () => {
    expect(signingKeys('YQ').map(String)).toEqual(['a'])
  })

  test.each(['', ' , '])('without a key is a mistake of the operator: %j', (empty) => {
    expect(() => signingKeys(empty)).toThrow('the webhook secret holds no key')
  })

  test.each([
    ['no base64', 'YQ== ?', 'key 2 of 2'],
    ['trailing bits', 'YR==', 'key 1 of 1'],
    ['an empty key', 'whsec_', 'key 1 of 1'],
    ['three signs of padding', 'YQ===', 'key 1 of 1'],
    ['two prefixes', 'YQ whsec_whsec_YQ', 'key 2 of 2'],
    ['a prefix in its middle', 'YQ YQwhsec_YQ', 'key 2 of 2'],
  ])('with %s is a mistake of the operator', (_, malformed, which) => {
    expect(() => signingKeys(malformed)).toThrow(`${which} in the webhook secret is not base64`)
  })
})

describe('a caller', () => {
  test.each([
    ['Viewer', 'Viewer'],
    [['Viewer', 'Admin', 'Editor'], 'Admin'],
    [['Viewer', 'Editor'], 'Editor'],
    [['Service', 'Viewer'], 'Viewer'],
    ['Service', 'Service'],
    ['admin', undefined],
    [undefined, undefined],
    [{ 0: 'Admin' }, undefined],
  ])('with the claim %j has the role %s', (claim, role) => {
    expect(roleFromClaim(claim)).toBe(role)
  })

  test('is named by its issuer and subject', () => {
    const caller = {
      sub: 'u1',
      tenant: 'a',
      role: undefined,
      scopes: new Set<string>(),
      claims: { iss: 'i' },
    }
    expect(principalOf(caller)).toBe('["i","u1"]')
    expect(principalOf(undefined)).toBe('')
  })

  test.each([
    ['192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['::3:4:5:6:7:8', '0:0:3:4::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::ffff:192.0.2.1', '::ffff:192.0.2.1'],
    ['not:an:address', 'not:an:address'],
  ])('at %s is counted as %s', (sourceAddress, source) => {
    expect(sourceOf({ sourceAddress })).toBe(source)
  })

  test.each([
    ['a', true],
    ['A1b.c', true],
    ['a'.repeat(10), true],
    ['a'.repeat(11), false],
    ['a_b', false],
    ['a-b', false],
    ['.a', false],
    ['a#b', false],
    ['xa\n', false],
    ['', false],
  ])('with the tenant %j: accepted %j', (tenant, accepted) => {
    const settings = { ...localSettings, 'requests.tenantName': { punctuation: '.', maxLength: 10 } }
    expect(tenantNamePattern(settings as unknown as Settings).test(tenant)).toBe(accepted)
  })
})
