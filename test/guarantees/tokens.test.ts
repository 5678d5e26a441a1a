import { describe, expect, test } from '@jest/globals'
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose'
import { startBudget, systemClock } from '#shared/platform/base/clock.ts'
import { Failure } from '#shared/platform/base/failure.ts'
import { tokenVerifier } from '#shared/platform/identity/token.ts'
import type { Settings } from '#shared/settings/register.ts'
import { type Identity, keySet, localSettings, tokenFor } from '#test/support/settings.ts'

const verifier = tokenVerifier(localSettings)
const now = Date.now()

async function outcome(
  authorization: string | undefined,
  nonce?: string,
  settings?: Settings,
): Promise<string> {
  try {
    const { sub, tenant, role } = await (settings ? tokenVerifier(settings) : verifier).verify(
      authorization,
      nonce,
      now,
      startBudget(systemClock, 10_000),
    )
    return `${sub}@${tenant} ${role}`
  } catch (thrown) {
    if (thrown instanceof Failure) return thrown.code
    throw thrown
  }
}

const bearer = async (identity: Identity = {}, nonce?: string) =>
  outcome(`Bearer ${await tokenFor(identity, localSettings, now)}`, nonce)

const good = 'u1@acme Editor'
const bad = 'AUTH.invalid_credentials'

describe('a token', () => {
  test.each<[string, Identity, string]>([
    ['valid', {}, good],
    ['with several roles, the highest counts', { role: ['Viewer', 'Admin', 'Editor'] }, 'u1@acme Admin'],
    ['with an unknown role', { role: 'Owner' }, 'u1@acme undefined'],
    ['expired', { expiresInSeconds: -1 }, 'AUTH.token.expired'],
    ['not yet valid', { claims: { nbf: Math.floor(now / 1000) + 60 } }, bad],
    ['issued in the future', { claims: { iat: Math.floor(now / 1000) + 60 } }, bad],
    ['without exp', { claims: { exp: null } }, bad],
    ['without sub', { claims: { sub: null } }, bad],
    ['with an empty sub', { sub: '' }, bad],
    ['without tenant', { claims: { tenant: null } }, bad],
    ['with a key separator in the tenant', { tenant: 'acme#0' }, bad],
    ['with a tenant that is an array', { claims: { tenant: ['acme'] } }, bad],
    ['of another issuer', { claims: { iss: 'https://evil.example' } }, bad],
    ['without an issuer', { claims: { iss: null } }, bad],
    ['for another audience', { claims: { aud: 'other' } }, bad],
    ['without an audience', { claims: { aud: null } }, bad],
    ['with an unknown critical header', { header: { crit: ['x'], x: 1 } }, bad],
    ['of an unknown key', { header: { kid: 'other' } }, bad],
    ['of type access', { claims: { token_use: 'access' } }, good],
    ['of type ID', { claims: { token_use: 'id' } }, bad],
    ['with a use that is not a string', { claims: { token_use: ['access'] } }, bad],
    ['for several audiences including this one', { claims: { aud: ['other', 'commerce-api'] } }, good],
    ['with an expiry that is not a number', { claims: { exp: 'never' } }, bad],
    ['with a nonce without its header', { claims: { nonce: 'n1' } }, bad],
  ])('is accepted or rejected by its claims: %s', async (_, identity, expected) => {
    expect(await bearer(identity)).toBe(expected)
  })

  test('bound to a nonce requires that nonce', async () => {
    const bound = { claims: { nonce: 'n1' } }
    expect(await bearer(bound, 'n1')).toBe(good)
    expect(await bearer(bound, 'n2')).toBe(bad)
    expect(await bearer({}, 'n1')).toBe(good)
  })

  test.each([
    '',
    'Bearer',
    'Bearer ',
    'Basic dTE6cA==',
    'Bearer a.b.c',
    'Bearer a b',
    `Bearer ${'x'.repeat(9000)}`,
  ])('is not the header %j', async (header) => expect(await outcome(header)).toBe(bad))

  test('is required', async () => expect(await outcome(undefined)).toBe(bad))
})

describe('a token that its issuer made for something else', () => {
  const header = (typ: string | undefined) => ({ header: { typ } })

  test.each([
    ['of the type at+jwt', header('at+jwt'), good],
    ['of the same type in another spelling', header('application/AT+JWT'), good],
    ['of an access token for a Cognito pool', { claims: { token_use: 'access' } }, good],
    ['of the type JWT, like ID tokens', header('JWT'), bad],
    ['without a type', header(undefined), bad],
    ['of the type logout+jwt', header('logout+jwt'), bad],
    ['of the type dpop+jwt', header('dpop+jwt'), bad],
    ['with events, like a logout token', { claims: { events: {} } }, bad],
    ['with the hash of an access token, like an ID token', { claims: { at_hash: 'x' } }, bad],
    ['with token_use id', { claims: { token_use: 'id' } }, bad],
    ['bound to a key by DPoP', { claims: { cnf: { jkt: 'x' } } }, bad],
    ['bound to a certificate', { claims: { cnf: { 'x5t#S256': 'x' } } }, bad],
  ])('is accepted or rejected: %s', async (_, identity, expected) => {
    expect(await bearer(identity)).toBe(expected)
  })

  test.each([
    ['with token_use access', { claims: { token_use: 'access' } }, good],
    ['without token_use', {}, bad],
  ])('has no type, where the issuer sends none: %s', async (_, identity, expected) => {
    const issuers = localSettings['auth.issuers'].map((issuer) => ({ ...issuer, types: [null] }))
    const settings = { ...localSettings, 'auth.issuers': issuers }
    const token = await tokenFor({ ...identity, ...header(undefined) }, settings, now)
    expect(await outcome(`Bearer ${token}`, undefined, settings)).toBe(expected)
  })
})

describe('a forged token is rejected', () => {
  const claims = {
    iss: localSettings['auth.issuers'][0]?.issuer ?? '',
    aud: localSettings['auth.issuers'][0]?.audience ?? '',
    sub: 'u1',
    tenant: 'acme',
    roles: 'Admin',
    exp: Math.floor(now / 1000) + 600,
  }

  test('without a signature', async () => {
    expect(await outcome(`Bearer ${new UnsecuredJWT(claims).encode()}`)).toBe(bad)
  })

  test('signed with the public key as a shared secret', async () => {
    const secret = new TextEncoder().encode(JSON.stringify(keySet.keys[0]))
    const token = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256', kid: 'test', typ: 'at+jwt' })
      .sign(secret)
    expect(await outcome(`Bearer ${token}`)).toBe(bad)
  })

  test('with a key in its header', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256')
    const header = {
      alg: 'ES256',
      kid: 'test',
      typ: 'at+jwt',
      jwk: await exportJWK(publicKey),
      jku: 'http://127.0.0.1:1/keys',
    }
    expect(
      await outcome(`Bearer ${await new SignJWT(claims).setProtectedHeader(header).sign(privateKey)}`),
    ).toBe(bad)
  })

  test('with an algorithm that the issuer does not use', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES384')
    const [issuer] = localSettings['auth.issuers']
    if (!issuer) throw new Error('no issuer')
    const keys = { keys: [{ ...(await exportJWK(publicKey)), kty: 'EC', kid: 'test' }] }
    const settings = { ...localSettings, 'auth.issuers': [{ ...issuer, keys }] } as Settings
    const token = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'ES384', kid: 'test', typ: 'at+jwt' })
      .sign(privateKey)
    expect(await outcome(`Bearer ${token}`, undefined, settings)).toBe(bad)
  })

  test('with changed claims', async () => {
    const [header, , signature] = (await tokenFor({}, localSettings, now)).split('.')
    const changed = Buffer.from(JSON.stringify({ ...claims, tenant: 'other' })).toString('base64url')
    expect(await outcome(`Bearer ${header}.${changed}.${signature}`)).toBe(bad)
  })
})
