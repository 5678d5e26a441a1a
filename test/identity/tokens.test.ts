import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose'
import { startBudget, systemClock } from '#shared/platform/base/clock.ts'
import type { Failure } from '#shared/platform/base/failure.ts'
import type { Caller } from '#shared/platform/identity/caller.ts'
import { poolIssuer } from '#shared/platform/identity/issuer.ts'
import { type TokenVerifier, tokenVerifier } from '#shared/platform/identity/token.ts'
import type { Settings } from '#shared/settings/register.ts'
import { issuerKey, tokenBy } from '#test/support/key-set-host.ts'
import { type Identity, keySet, localSettings, signingKey, tokenFor } from '#test/support/settings.ts'

const start = 1_800_000_000_000
/** A key of Node, as jose signs with it by any algorithm of RSA. */
const poolKey = generateKeyPairSync('rsa', { modulusLength: 2048 })
let now = start
beforeEach(() => {
  now = start
})

const settingsOf = (changes: Partial<Settings>): Settings => ({ ...localSettings, ...changes })
const verifierOf = (changes: Partial<Settings> = {}) =>
  tokenVerifier(settingsOf(changes), [], { now: () => now })
const verify = (verifier: TokenVerifier, authorization: string | undefined, nonce?: string) =>
  verifier.verify(authorization, nonce, now, startBudget(systemClock, 60_000))
const subOf = ({ sub }: Caller) => sub
const codeOfFailure = ({ code }: Failure) => code
async function outcome(identity: Identity, changes: Partial<Settings> = {}, nonce?: string): Promise<string> {
  const token = await tokenFor(identity, localSettings, start)
  return verify(verifierOf(changes), `Bearer ${token}`, nonce).then(subOf, codeOfFailure)
}
const refused = 'AUTH.invalid_credentials'
const partOf = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

describe('the issuer of the user pool', () => {
  const USER_POOL_ISSUER = 'https://cognito-idp.eu-west-1.amazonaws.com/pool'
  const USER_POOL_CLIENT_ID = 'client'

  test('publishes its keys under its name', () => {
    expect(poolIssuer({ USER_POOL_ISSUER, USER_POOL_CLIENT_ID })).toEqual([
      {
        issuer: USER_POOL_ISSUER,
        audience: 'client',
        claims: { tenant: ['tenant'], roles: ['roles'], scopes: ['scope'], audience: ['client_id'] },
        algorithms: ['RS256'],
        types: [null],
        keys: { jwks_uri: `${USER_POOL_ISSUER}/.well-known/jwks.json` },
      },
    ])
  })

  test('publishes its keys at the emulator that replaces AWS', () => {
    const environment = { USER_POOL_ISSUER, USER_POOL_CLIENT_ID, AWS_ENDPOINT_URL: 'http://127.0.0.1:4566' }
    expect(poolIssuer(environment)).toMatchObject([
      { issuer: USER_POOL_ISSUER, keys: { jwks_uri: 'http://127.0.0.1:4566/pool/.well-known/jwks.json' } },
    ])
  })

  test.each([{}, { USER_POOL_ISSUER }, { USER_POOL_CLIENT_ID }])('is absent with %j', (environment) => {
    expect(poolIssuer(environment)).toEqual([])
  })
})

describe('the caller of a token', () => {
  test('has its subject, tenant, role, scopes and claims', async () => {
    const token = await tokenFor({ scope: ' a  b ' }, localSettings, start)
    expect(await verify(verifierOf(), `bearer  ${token}`)).toMatchObject({
      sub: 'u1',
      tenant: 'acme',
      role: 'Editor',
      scopes: new Set(['a', 'b']),
      claims: { scope: ' a  b ' },
    })
  })

  test.each([{}, { claims: { scope: [1] } }])('has no scopes with %j', async (identity) => {
    const token = await tokenFor(identity, localSettings, start)
    expect((await verify(verifierOf(), `Bearer ${token}`)).scopes).toEqual(new Set())
  })

  test.each<[string, Identity, string]>([
    ['a subject of 255 characters', { sub: 's'.repeat(255) }, 's'.repeat(255)],
    ['a subject of 256 characters', { sub: 's'.repeat(256) }, refused],
    ['a subject that is no text', { claims: { sub: 1 } }, refused],
    ['a subject with a lone surrogate', { sub: 'u\ud800' }, refused],
    ['a subject with a control character', { sub: 'u\u0000' }, refused],
    ['a subject with a line end', { sub: 'u\n1' }, refused],
    ['a subject with a C1 control character', { sub: 'u\u0085' }, refused],
    ['a subject with a bidirectional override', { sub: 'u\u202e1' }, refused],
    ['a subject with a zero-width joiner', { sub: 'u\u200d1' }, refused],
    ['a subject with a filler that shows nothing', { sub: 'u\u3164' }, refused],
    ['a subject beyond ASCII', { sub: 'ü😀' }, 'ü😀'],
    ['a tenant with a lone surrogate', { tenant: 'acme\ud800' }, refused],
    ['a tenant with a line end', { tenant: 'acme\n' }, refused],
    ['a tenant that is no text', { claims: { tenant: 1 } }, refused],
    ['an access token', { claims: { token_use: 'access' } }, 'u1'],
    ['an ID token', { claims: { token_use: 'id' } }, refused],
    ['no time of issue', { claims: { iat: null } }, refused],
    ['a time of issue that is no number', { claims: { iat: '1' } }, refused],
    ['a life of a day', { expiresInSeconds: 86_400 }, 'u1'],
    ['a life of more than a day', { expiresInSeconds: 86_401 }, refused],
    [
      'a life of more than a day, most of which is over',
      { claims: { iat: start / 1000 - 86_000 }, expiresInSeconds: 401 },
      refused,
    ],
    ['a time of issue one second ahead', { claims: { iat: start / 1000 + 1 } }, 'u1'],
    ['a time of issue two seconds ahead', { claims: { iat: start / 1000 + 2 } }, refused],
    ['another audience', { claims: { aud: 'other' } }, refused],
    ['no expiry', { claims: { exp: null } }, refused],
    ['no tenant', { claims: { tenant: null } }, refused],
    ['an expired token', { expiresInSeconds: -1 }, 'AUTH.token.expired'],
    ['an unknown issuer', { claims: { iss: 'other' } }, refused],
    ['no subject', { claims: { sub: null } }, refused],
    ['an empty subject', { sub: '' }, refused],
    ['a time before which it is not valid', { claims: { nbf: start / 1000 + 60 } }, refused],
    ['an expiry that is no number', { claims: { exp: 'never' } }, refused],
    ['a key separator in the tenant', { tenant: 'acme#0' }, refused],
    ['a tenant that is an array', { claims: { tenant: ['acme'] } }, refused],
    ['no issuer', { claims: { iss: null } }, refused],
    ['no audience', { claims: { aud: null } }, refused],
    ['several audiences', { claims: { aud: ['other', 'commerce-api'] } }, 'u1'],
    ['an unknown critical header', { header: { crit: ['x'], x: 1 } }, refused],
    ['the id of an unknown key', { header: { kid: 'other' } }, refused],
    ['the id of a member of every object', { header: { kid: '__proto__' } }, refused],
    ['a use that is no text', { claims: { token_use: ['access'] } }, refused],
    ['the type at+jwt in another spelling', { header: { typ: 'application/AT+JWT' } }, 'u1'],
    ['the type of ID tokens', { header: { typ: 'JWT' } }, refused],
    ['no type', { header: { typ: undefined } }, refused],
    ['the type of logout tokens', { header: { typ: 'logout+jwt' } }, refused],
    ['the type of proofs', { header: { typ: 'dpop+jwt' } }, refused],
    ['events, like a logout token', { claims: { events: {} } }, refused],
    ['the hash of an access token, like an ID token', { claims: { at_hash: 'x' } }, refused],
    ['a key that it is bound to', { claims: { cnf: { jkt: 'x' } } }, refused],
    ['a certificate that it is bound to', { claims: { cnf: { 'x5t#S256': 'x' } } }, refused],
  ])('with %s', async (_, identity, expected) => {
    expect(await outcome(identity)).toBe(expected)
  })

  test.each([
    ['with token_use access', { claims: { token_use: 'access' } }, 'u1'],
    ['without token_use', {}, refused],
  ])('has no type, where its issuer sends none: %s', async (_, identity, expected) => {
    const issuers = localSettings['auth.issuers'].map((issuer) => ({ ...issuer, types: [null] }))
    expect(await outcome({ ...identity, header: { typ: undefined } }, { 'auth.issuers': issuers })).toBe(
      expected,
    )
  })

  test('may be issued ahead by the tolerance of the settings', async () => {
    const tolerant = { 'auth.clockToleranceSeconds': 10 }
    expect(await outcome({ claims: { iat: start / 1000 + 11 } }, tolerant)).toBe('u1')
    expect(await outcome({ claims: { iat: start / 1000 + 12 } }, tolerant)).toBe(refused)
  })

  test('may be expired by the tolerance of the settings', async () => {
    expect(await outcome({ expiresInSeconds: -9 }, { 'auth.clockToleranceSeconds': 10 })).toBe('u1')
  })
})

describe('a nonce', () => {
  const modes = {
    off: { mode: 'off', header: 'x' },
    bound: { mode: 'bound', header: 'x' },
    required: { mode: 'required', header: 'x' },
  } as Record<string, Settings['auth.nonce']>

  test.each<[string, unknown, string | undefined, string]>([
    ['off', 'n', undefined, 'u1'],
    ['bound', 'n', 'n', 'u1'],
    ['bound', 'n', 'other', refused],
    ['bound', 'n', undefined, refused],
    ['bound', null, 'n', 'u1'],
    ['bound', 7, '7', refused],
    ['bound', '', '', refused],
    ['required', 'n', 'n', 'u1'],
    ['required', null, undefined, refused],
  ])('that is %s, with the claim %j and the header %j', async (mode, nonce, given, expected) => {
    const changes = { 'auth.nonce': modes[mode] } as Partial<Settings>
    expect(await outcome({ claims: { nonce } }, changes, given)).toBe(expected)
  })

  test('that is not sent is named with its header', async () => {
    const token = await tokenFor({ claims: { nonce: 'n' } }, localSettings, now)
    const { header } = localSettings['auth.nonce']
    await expect(verify(verifierOf(), `Bearer ${token}`)).rejects.toMatchObject({
      details: { claim: ['nonce'], header },
    })
  })
})

describe('a rejection', () => {
  const hintOf = (authorization: string | undefined) =>
    verify(verifierOf(), authorization).catch(({ code, headers }: Failure) => [
      code,
      headers['WWW-Authenticate'],
    ])
  const invalid = 'error="invalid_token", error_description="the token is not valid"'

  test('without a token names the scheme only', async () => {
    expect(await hintOf(undefined)).toEqual([refused, 'Bearer realm="commerce-api"'])
  })

  test.each(['', 'Bearer', 'Bearer ', 'Basic x', 'xBearer a.b.c', 'Bearer a b', 'Bearer a.b.c'])(
    'of the header %j names an invalid token',
    async (authorization) => {
      expect(await hintOf(authorization)).toEqual([refused, `Bearer realm="commerce-api", ${invalid}`])
    },
  )

  test.each(['xBearer TOKEN', 'Bearer TOKEN x'])('of the header %j ignores its token', async (header) => {
    const token = await tokenFor({}, localSettings, start)
    expect(await hintOf(header.replace('TOKEN', token))).toEqual([refused, expect.stringContaining(invalid)])
  })

  test('of a signature, header or payload that is not strict base64url', async () => {
    const token = await tokenFor({}, localSettings, start)
    const [header = '', payload = '', signature = ''] = token.split('.')
    const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    // 64 bytes end with a digit of two bits; the other four are ignored by lenient decoders.
    const last = digits[digits.indexOf(signature.slice(-1)) + 1]
    const spellings = [`${signature.slice(0, -1)}${last}`, `${signature}=`, `${signature}==`, `${signature}A`]
    for (const other of spellings) {
      expect(await hintOf(`Bearer ${header}.${payload}.${other}`)).toContain(refused)
    }
    expect(await hintOf(`Bearer ${header}.${payload}=.${signature}`)).toContain(refused)
    expect(await hintOf(`Bearer ${header}=.${payload}.${signature}`)).toContain(refused)
  })

  test('of a signature in the alphabet of base64', async () => {
    const plain = async (): Promise<string> => {
      const token = await tokenFor({}, localSettings, start)
      const [header, payload, signature = ''] = token.split('.')
      const other = signature.replaceAll('-', '+').replaceAll('_', '/')
      return other === signature ? plain() : `${header}.${payload}.${other}`
    }
    expect(await hintOf(`Bearer ${await plain()}`)).toContain(refused)
  })

  test('of an expired token says so', async () => {
    const token = await tokenFor({ expiresInSeconds: -1 }, localSettings, start)
    expect(await hintOf(`Bearer ${token}`)).toEqual([
      'AUTH.token.expired',
      'Bearer realm="commerce-api", error="invalid_token", error_description="the token has expired"',
    ])
  })

  test('of a token without a tenant names the claim of the settings', async () => {
    const token = await tokenFor({ claims: { tenant: null, x: 'x' } }, localSettings, start)
    const issuers = localSettings['auth.issuers'].map(({ claims, ...issuer }) => ({
      ...issuer,
      claims: { ...claims, tenant: ['https://a.example/b', 'tenant'] },
    }))
    await expect(verify(verifierOf({ 'auth.issuers': issuers }), `Bearer ${token}`)).rejects.toMatchObject({
      code: refused,
      details: { claim: ['https://a.example/b', 'tenant'] },
      headers: {
        'WWW-Authenticate': expect.stringContaining('is not valid: claim https://a.example/b.tenant"'),
      },
    })
  })

  test('of a header above 8192 characters comes before its verification', async () => {
    const pad = async (length: number) => {
      const empty = `Bearer ${await tokenFor({ claims: { pad: '' } }, localSettings, start)}`
      const token = await tokenFor(
        { claims: { pad: 'x'.repeat(Math.floor((length - empty.length) * 0.75)) } },
        localSettings,
        start,
      )
      return `Bearer${' '.repeat(length - token.length - 6)}${token}`
    }
    expect(await verify(verifierOf(), await pad(8192))).toMatchObject({ sub: 'u1' })
    expect(await hintOf(await pad(8193))).toEqual([refused, expect.stringContaining(invalid)])
  })
})

describe('a forged token is rejected', () => {
  const claims = {
    iss: localSettings['auth.issuers'][0]?.issuer ?? '',
    aud: localSettings['auth.issuers'][0]?.audience ?? '',
    sub: 'u1',
    tenant: 'acme',
    roles: 'Admin',
    iat: start / 1000,
    exp: start / 1000 + 600,
  }

  const codeOf = (token: string, changes: Partial<Settings> = {}) =>
    verify(verifierOf(changes), `Bearer ${token}`).then(String, codeOfFailure)
  const forged = (header: object, key: Parameters<SignJWT['sign']>[0]) =>
    new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: 'test', typ: 'at+jwt', ...header }).sign(key)

  test.each([{ toString: 1 }, [{ toString: null }], ['x'], 1, null])('with the issuer %j', async (iss) => {
    expect(await codeOf(`${partOf({ alg: 'ES256', kid: 'test' })}.${partOf({ iss })}.AAAA`)).toBe(refused)
  })

  test.each([1, null, {}, []])('with the type %j', async (typ) => {
    expect(await codeOf(await forged({ typ }, signingKey))).toBe(refused)
  })

  test('without a signature', async () => {
    expect(await codeOf(new UnsecuredJWT(claims).encode())).toBe(refused)
  })

  test('signed with the public key as a shared secret', async () => {
    const secret = new TextEncoder().encode(JSON.stringify(keySet.keys[0]))
    expect(await codeOf(await forged({ alg: 'HS256' }, secret))).toBe(refused)
  })

  test('with a key in its header', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256')
    const header = { jwk: await exportJWK(publicKey), jku: 'http://127.0.0.1:1/keys' }
    expect(await codeOf(await forged(header, privateKey))).toBe(refused)
  })

  test('with an algorithm that the issuer does not use', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES384')
    const keys = { keys: [{ ...(await exportJWK(publicKey)), kty: 'EC', kid: 'test' }] }
    const issuers = localSettings['auth.issuers'].map((issuer) => ({ ...issuer, keys }))
    const token = await forged({ alg: 'ES384' }, privateKey)
    expect(await codeOf(token, { 'auth.issuers': issuers } as Partial<Settings>)).toBe(refused)
  })

  test('with changed claims', async () => {
    const [header, , signature] = (await tokenFor({}, localSettings, start)).split('.')
    const changed = Buffer.from(JSON.stringify({ ...claims, tenant: 'other' })).toString('base64url')
    expect(await codeOf(`${header}.${changed}.${signature}`)).toBe(refused)
  })
})

describe('a token of the user pool', () => {
  const pool = { USER_POOL_ISSUER: 'https://pool.example', USER_POOL_CLIENT_ID: 'client' }
  const configured = { iss: 'https://issuer.localhost', aud: 'commerce-api' }
  interface Signed {
    claims?: object
    header?: object
    key?: KeyObject | typeof signingKey
  }
  const codeOf = async ({ claims, header, key = poolKey.privateKey }: Signed) => {
    const keys = [{ ...(await exportJWK(poolKey.publicKey)), kid: 'pool', use: 'sig' }]
    jest.spyOn(globalThis, 'fetch').mockResolvedValue(Response.json({ keys }))
    const own = {
      iss: pool.USER_POOL_ISSUER,
      client_id: 'client',
      token_use: 'access',
      sub: 'u1',
      tenant: 'acme',
    }
    const token = await new SignJWT({ ...own, iat: start / 1000, exp: start / 1000 + 600, ...claims })
      .setProtectedHeader({ alg: 'RS256', kid: 'pool', ...header })
      .sign(key)
    const verifier = tokenVerifier(localSettings, poolIssuer(pool), { now: () => now })
    return verify(verifier, `Bearer ${token}`).then(subOf, codeOfFailure)
  }
  afterEach(() => {
    jest.restoreAllMocks()
  })

  test.each<[string, Signed, string]>([
    ['is accepted', {}, 'u1'],
    ['is rejected as an ID token', { claims: { token_use: 'id' } }, refused],
    [
      'is rejected if it does not say that it is an access token',
      { claims: { token_use: undefined } },
      refused,
    ],
    ['is rejected with a type, which no access token of a pool has', { header: { typ: 'JWT' } }, refused],
    ['is rejected if it is of another client', { claims: { client_id: 'client-2' } }, refused],
    ['is rejected if it names no client', { claims: { client_id: undefined } }, refused],
    ['is accepted with its client as its audience', { claims: { aud: 'client' } }, 'u1'],
    ['is rejected with another audience', { claims: { aud: 'client-2' } }, refused],
    ['is rejected with an audience that is null', { claims: { aud: null } }, refused],
    ['is rejected with another algorithm of its key', { header: { alg: 'PS256' } }, refused],
    [
      'is rejected if a configured issuer signed it',
      { key: signingKey, header: { alg: 'ES256', kid: 'test' } },
      refused,
    ],
    ['is rejected if it names a configured issuer', { claims: configured }, refused],
  ])('%s', async (_, signed, expected) => {
    expect(await codeOf(signed)).toBe(expected)
  })
})

describe('the published keys of an issuer', () => {
  const seconds = 1000
  let fetched: string[]
  let fetches: jest.SpiedFunction<typeof fetch>
  let respond: () => Response
  let keys: object[]
  const issuers = localSettings['auth.issuers'].map((issuer) => ({
    ...issuer,
    keys: { jwks_uri: 'https://issuer.example/keys' },
  }))
  let verifier: TokenVerifier
  let first: Awaited<ReturnType<typeof issuerKey>>
  let second: typeof first
  beforeEach(async () => {
    ;[first, second] = await Promise.all([issuerKey('first'), issuerKey('second')])
    keys = [first.jwk]
    fetched = []
    respond = () => Response.json({ keys })
    fetches = jest.spyOn(globalThis, 'fetch').mockImplementation(async (url) => {
      fetched.push(String(url))
      return respond()
    })
    verifier = verifierOf({ 'auth.issuers': issuers })
  })
  afterEach(() => {
    jest.restoreAllMocks()
  })
  const by = async (key: typeof first, header?: Parameters<typeof tokenBy>[2]) =>
    verify(verifier, `Bearer ${await tokenBy(key, now, header)}`).then(subOf, codeOfFailure)

  const unavailable = { code: 'DEPENDENCY.unavailable', cause: expect.any(Error) }
  const faultBy = async (key: typeof first) =>
    verify(verifier, `Bearer ${await tokenBy(key, now)}`).catch(({ code, cause }: Failure) => ({
      code,
      cause,
    }))

  test('are fetched as JSON from the address of the settings only', async () => {
    await by(first)
    const options = { redirect: 'error', headers: { Accept: 'application/json' } }
    expect(fetches).toHaveBeenCalledWith(
      'https://issuer.example/keys',
      expect.objectContaining({ ...options, signal: expect.any(AbortSignal) }),
    )
  })

  test('are never fetched from an address that a token names', async () => {
    expect(await by(first, { kid: 'first', jku: 'https://evil.example/keys', jwk: second.jwk })).toBe('u1')
    expect(fetched).toEqual(['https://issuer.example/keys'])
  })

  test('are fetched once', async () => {
    await by(first)
    expect(await by(first)).toBe('u1')
    expect(fetched).toEqual(['https://issuer.example/keys'])
  })

  test('are fetched again for an unknown key, once in 30 seconds', async () => {
    await by(first)
    keys = [first.jwk, second.jwk]
    now += 30 * seconds - 1
    expect(await by(second)).toBe(refused)
    now += 1
    expect(await by(second)).toBe('u1')
    expect(fetched).toHaveLength(2)
  })

  test('are used for ten minutes, and then fetched again', async () => {
    await by(first)
    keys = [second.jwk]
    now += 600 * seconds - 1
    expect(await by(first)).toBe('u1')
    now += 1
    expect(await by(first)).toBe(refused)
  })

  test('are used for an hour while the issuer fails', async () => {
    await by(first)
    respond = () => new Response('', { status: 500 })
    now += 3600 * seconds - 1
    expect(await by(first)).toBe('u1')
    now += 1
    expect(await by(first)).toBe('DEPENDENCY.unavailable')
  })

  test('are not fetched within five seconds of a failure', async () => {
    respond = () => new Response('', { status: 500 })
    expect(await by(first)).toBe('DEPENDENCY.unavailable')
    respond = () => Response.json({ keys })
    now += 5 * seconds - 1
    expect(await by(first)).toBe('DEPENDENCY.unavailable')
    now += 1
    expect(await by(first)).toBe('u1')
  })

  test.each<[string, () => Response]>([
    ['with another status', () => Response.json({ keys: [] }, { status: 201 })],
    ['that are no JSON', () => new Response('keys')],
    ['that are no key set', () => Response.json({})],
    ['without end', () => Response.json({ keys, filler: 'x'.repeat(256_000) })],
  ])('%s are a fault of the issuer', async (_, response) => {
    respond = response
    expect(await faultBy(first)).toEqual(unavailable)
  })

  test('that cannot be loaded for an unknown key are a failure that its caller may have caused', async () => {
    await by(first)
    respond = () => new Response('', { status: 500 })
    now += 30 * seconds
    const token = await tokenBy(second, now)
    const failure = { code: 'DEPENDENCY.unavailable', causedByCaller: true }
    await expect(verify(verifier, `Bearer ${token}`)).rejects.toMatchObject(failure)
  })

  test.each([
    ['an issuer of some tenants', { tenants: ['acme'] }, true],
    ['an issuer of all', {}, false],
  ])(
    'of %s that cannot be loaded: the failure is that of its caller: %j %s',
    async (_, of, causedByCaller) => {
      verifier = verifierOf({ 'auth.issuers': issuers.map((one) => ({ ...one, ...of })) })
      respond = () => new Response('', { status: 500 })
      const token = await tokenBy(first, now)
      const failure = { code: 'DEPENDENCY.unavailable', causedByCaller }
      await expect(verify(verifier, `Bearer ${token}`)).rejects.toMatchObject(failure)
    },
  )

  test('of which one cannot be read are a fault of the issuer', async () => {
    keys = [{ ...first.jwk, x: 'AA' }]
    expect(await faultBy(first)).toEqual(unavailable)
  })

  test('with an RSA key that is too short are a fault of the issuer, also if the token is not signed', async () => {
    verifier = verifierOf({ 'auth.issuers': issuers.map((one) => ({ ...one, algorithms: ['RS256'] })) })
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
    keys = [{ ...publicKey.export({ format: 'jwk' }), kid: 'short', alg: 'RS256' }]
    const [, claims] = (await tokenBy(first, now)).split('.')
    const token = `${partOf({ alg: 'RS256', kid: 'short' })}.${claims}.AAAA`
    await expect(verify(verifier, `Bearer ${token}`)).rejects.toMatchObject({ code: unavailable.code })
  })

  test('of an issuer of some tenants that cannot be read are a failure that its caller may have caused', async () => {
    verifier = verifierOf({ 'auth.issuers': issuers.map((one) => ({ ...one, tenants: ['acme'] })) })
    keys = [{ ...first.jwk, x: 'AA' }]
    const token = await tokenBy(first, now)
    const failure = { code: 'DEPENDENCY.unavailable', causedByCaller: true }
    await expect(verify(verifier, `Bearer ${token}`)).rejects.toMatchObject(failure)
  })

  test('that are lost after an hour are a failure of the caller also for a token that was verified before', async () => {
    verifier = verifierOf({ 'auth.issuers': issuers.map((one) => ({ ...one, tenants: ['acme'] })) })
    const token = await tokenBy(first, now)
    await verify(verifier, `Bearer ${token}`)
    respond = () => new Response('', { status: 500 })
    now += 3600 * seconds
    const failure = { code: 'DEPENDENCY.unavailable', causedByCaller: true }
    await expect(verify(verifier, `Bearer ${token}`)).rejects.toMatchObject(failure)
  })

  test('verify a token without a key id only if there is one', async () => {
    expect(await by(first, {})).toBe('u1')
    now += 600 * seconds
    keys = [first.jwk, second.jwk]
    expect(await by(first, {})).toBe(refused)
    now += 30 * seconds
    expect(await by(first, {})).toBe(refused)
    // Another load would not tell which key is meant.
    expect(fetched).toHaveLength(2)
    expect(await by(second)).toBe('u1')
  })

  test('verify a token until its expiry, without verifying it again', async () => {
    const verifications = jest.spyOn(crypto.subtle, 'verify')
    const token = await tokenBy(first, now)
    const again = () => verify(verifier, `Bearer ${token}`).then(subOf, codeOfFailure)
    await again()
    now += 60 * seconds
    expect(await again()).toBe('u1')
    expect(verifications).toHaveBeenCalledTimes(1)
    now = start - 1
    await again()
    expect(verifications).toHaveBeenCalledTimes(2)
    now = start + 86_400 * seconds - 1
    await again()
    now += 1
    expect(await again()).toBe('AUTH.token.expired')
  })
})
