import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals'
import { exportJWK, exportSPKI, SignJWT } from 'jose'
import { startBudget, systemClock } from '#shared/platform/base/clock.ts'
import { Failure } from '#shared/platform/base/failure.ts'
import { poolIssuer } from '#shared/platform/identity/issuer.ts'
import { tokenVerifier } from '#shared/platform/identity/token.ts'
import { localSettings, signingKey, tokenFor } from '#test/support/settings.ts'

/** Tokens of the deployment's user pool, in addition to those of configured issuers. */

const ours = generateKeyPairSync('rsa', { modulusLength: 2048 })
const theirs = generateKeyPairSync('rsa', { modulusLength: 2048 })
const keys = [{ ...(await exportJWK(ours.publicKey)), kid: 'pool', alg: 'RS256', use: 'sig' }]
const fetched: string[] = []
const server = createServer((request, answer) => {
  fetched.push(request.url ?? '')
  answer.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ keys }))
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
afterAll(() => new Promise((done) => server.close(done)))
const engine = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const issuer = 'https://cognito-idp.us-east-1.amazonaws.com/us-east-1_pool'
const environment = { USER_POOL_ISSUER: issuer, USER_POOL_CLIENT_ID: 'client-1', AWS_ENDPOINT_URL: engine }
const verifier = tokenVerifier(localSettings, poolIssuer(environment))
const now = Date.now()
const budget = startBudget(systemClock, 60_000)
beforeEach(() => {
  fetched.length = 0
})

const claims = {
  iss: issuer,
  aud: 'client-1',
  client_id: 'client-1',
  token_use: 'access',
  sub: 'u1',
  tenant: 'acme',
  roles: 'Editor',
  exp: Math.floor(now / 1000) + 600,
}
interface Forged {
  claims?: Record<string, unknown>
  header?: Record<string, unknown>
  key?: KeyObject | Uint8Array | typeof signingKey
}
const sign = (forged: Forged = {}) =>
  new SignJWT({ ...claims, ...forged.claims })
    .setProtectedHeader({ alg: 'RS256', kid: 'pool', ...forged.header })
    .sign(forged.key ?? ours.privateKey)

async function outcome(token: string) {
  try {
    const { sub, tenant, role } = await verifier.verify(`Bearer ${token}`, undefined, now, budget)
    return `${sub}@${tenant} ${role}`
  } catch (thrown) {
    if (!(thrown instanceof Failure)) throw thrown
    expect([thrown.http, thrown.headers['WWW-Authenticate']]).toEqual([
      401,
      expect.stringMatching(/^Bearer realm="commerce-api", error="invalid_token"/),
    ])
    return thrown.code
  }
}

const bad = 'AUTH.invalid_credentials'

describe('a token of the user pool', () => {
  test("is verified with the keys of the pool, at the local engine's endpoint", async () => {
    expect(await outcome(await sign())).toBe('u1@acme Editor')
    expect(fetched).toEqual(['/us-east-1_pool/.well-known/jwks.json'])
    expect(poolIssuer({ ...environment, AWS_ENDPOINT_URL: undefined })).toEqual([
      {
        issuer,
        audience: 'client-1',
        algorithms: ['RS256'],
        types: [null],
        keys: { jwks_uri: `${issuer}/.well-known/jwks.json` },
      },
    ])
    expect(poolIssuer({})).toEqual([])
  })

  test('is accepted in addition to tokens of configured issuers', async () => {
    expect(await outcome(await tokenFor({}, localSettings, now))).toBe('u1@acme Editor')
  })

  test.each<[string, Forged, string]>([
    ['if it has expired', { claims: { exp: Math.floor(now / 1000) - 1 } }, 'AUTH.token.expired'],
    ['if it is not yet valid', { claims: { nbf: Math.floor(now / 1000) + 60 } }, bad],
    ['if it is an ID token', { claims: { token_use: 'id' } }, bad],
    ['if it does not say that it is an access token', { claims: { token_use: undefined } }, bad],
    ['if it has a type, which no access token of a pool has', { header: { typ: 'JWT' } }, bad],
    ['if it is of another client of the pool', { claims: { aud: 'client-2', client_id: 'client-2' } }, bad],
    ['without an audience', { claims: { aud: undefined } }, bad],
    ['if it is of another pool', { claims: { iss: `${issuer}2` } }, bad],
    ['for a user without a tenant', { claims: { tenant: undefined } }, bad],
    ['if another key signed it', { key: theirs.privateKey }, bad],
    ['if a configured issuer signed it', { key: signingKey, header: { alg: 'ES256', kid: 'test' } }, bad],
    [
      'if it names a configured issuer, but the pool signed it',
      { claims: { iss: 'https://issuer.localhost', aud: 'commerce-api' } },
      bad,
    ],
    ['with another algorithm of the same key', { header: { alg: 'PS256' } }, bad],
  ])('is rejected %s', async (_, forged, expected) => {
    expect(await outcome(await sign(forged))).toBe(expected)
  })

  test.each(['spki', 'jwk'])(
    'signed with the public key (%s) as a shared secret is rejected',
    async (form) => {
      const text = form === 'spki' ? await exportSPKI(ours.publicKey as never) : JSON.stringify(keys[0])
      const forged = { key: new TextEncoder().encode(text), header: { alg: 'HS256' } }
      expect(await outcome(await sign(forged))).toBe(bad)
    },
  )

  test('that contains a key is rejected, and none of its URLs is fetched', async () => {
    const jwk = await exportJWK(theirs.publicKey)
    const places = [{ jwk }, { jku: `${engine}/evil` }, { x5u: `${engine}/evil` }, { x5c: ['MIIB'] }]
    for (const header of places)
      expect(await outcome(await sign({ key: theirs.privateKey, header: { ...header, kid: 'pool' } }))).toBe(
        bad,
      )
    expect(fetched).not.toContain('/evil')
    // A token with a valid signature is accepted. Its URLs are ignored.
    expect(await outcome(await sign({ header: { jku: `${engine}/evil`, jwk } }))).toBe('u1@acme Editor')
    expect(fetched).not.toContain('/evil')
  })

  test.each(['none', 'None', 'nOnE', ''])('of algorithm %j is rejected', async (alg) => {
    const header = Buffer.from(JSON.stringify({ alg, kid: 'pool' })).toString('base64url')
    const [, payload, signature] = (await sign()).split('.')
    expect(await outcome(`${header}.${payload}.`)).toBe(bad)
    expect(await outcome(`${header}.${payload}.${signature}`)).toBe(bad)
  })
})
