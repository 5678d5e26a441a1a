import { beforeAll, describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { SignJWT } from 'jose'
import { runs } from '#test/support/runs.ts'
import { type Call, type Service, startService } from '#test/support/service.ts'
import { localSettings, signingKey } from '#test/support/settings.ts'

let service: Service
beforeAll(async () => {
  service = await startService()
})

/** Sends a request. A failure of the service throws. */
const statusOf = async (call: Call) => (await service.call(call)).status

/** JSON that throws if code makes it a text. */
const trap = fc.constantFrom({ toString: 1 }, [{ toString: null }])
const json = fc.oneof(trap, fc.jsonValue())
/** Returns an object with some of these fields. Each is as it is here, or any JSON. */
const someOf = (good: Record<string, unknown>) => {
  const fields = Object.entries(good).map(([name, value]) => [name, fc.oneof(fc.constant(value), json)])
  return fc.record(Object.fromEntries(fields), { requiredKeys: [] })
}
const [{ issuer, audience } = {}] = localSettings['auth.issuers']
const seconds = Math.floor(Date.now() / 1000)
const header = {
  ...{ alg: 'ES256', kid: 'test', typ: 'at+jwt', cty: 'JWT', crit: ['exp'], b64: true, enc: 'A128GCM' },
  ...{ jwk: {}, jku: 'https://evil.example', x5c: [] },
}
const claims = {
  ...{ iss: issuer, aud: audience, sub: 'u1', tenant: 'acme', roles: 'Admin', scope: 'codes:read' },
  ...{ iat: seconds, nbf: seconds, exp: seconds + 600, jti: '1', nonce: '1', token_use: 'access', cnf: {} },
}
const readBy = (token: string) =>
  statusOf({ path: '/v1/orders', headers: { Authorization: `Bearer ${token}` } })

describe('a token', () => {
  test('without a signature is refused, whatever it contains', async () => {
    const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    await fc.assert(
      fc.asyncProperty(
        fc.oneof({ weight: 9, arbitrary: someOf(header) }, json),
        fc.oneof({ weight: 9, arbitrary: someOf(claims) }, json),
        fc.uint8Array({ maxLength: 64 }),
        async (head, payload, signature) => {
          const token = `${encoded(head)}.${encoded(payload)}.${Buffer.from(signature).toString('base64url')}`
          expect(await readBy(token)).toBe(401)
        },
      ),
      runs(10_000),
    )
  })

  test('of an issuer is accepted or refused, whatever it contains', async () => {
    const { crit: _, b64: __, ...signed } = header
    await fc.assert(
      fc.asyncProperty(someOf(signed), someOf(claims), async (head, payload) => {
        const token = await new SignJWT(payload)
          .setProtectedHeader({ ...head, alg: 'ES256', kid: 'test' })
          .sign(signingKey)
        expect([200, 401, 403]).toContain(await readBy(token))
      }),
      runs(5000),
    )
  })
})

describe('the credential of a request is refused, whatever it contains:', () => {
  const value = fc.oneof(
    fc.constantFrom('', '1', 't', 'v1', '0'.repeat(64), `é${'0'.repeat(63)}`, String(seconds), 'eA=='),
    fc.string({ unit: 'binary', maxLength: 70 }),
  )
  /** Names, values and separators in any order. */
  const list = (...names: string[]) =>
    fc
      .array(fc.oneof(fc.constantFrom(...names, '=', ',', ';', '.', ' ', 'v1=', 'v1,'), value), {
        maxLength: 9,
      })
      .map((parts) => parts.join(''))
  const post = (path: string) => ({ method: 'POST', path, body: '{}' })

  test.each<[string, Call, Record<string, fc.Arbitrary<string>>]>([
    ['an authorization', { path: '/v1/orders' }, { Authorization: list('Bearer ', 'Basic ') }],
    ['an API key', post('/v1/orders'), { 'X-Api-Key': list('ck_', 'ck_acme.') }],
    ['a session', post('/discount/verify'), { Cookie: list('__Host-session=', 'csrf_token=') }],
    [
      'a signature of Stripe',
      post('/v1/webhooks/stripe'),
      { 'Stripe-Signature': list('t=', `t=${seconds}`, 'v0=') },
    ],
    [
      'a signature of a partner',
      post('/v1/webhooks/events'),
      { 'webhook-signature': list('v1,', 'v1a,'), 'webhook-id': value, 'webhook-timestamp': value },
    ],
  ])('%s', async (_, call, headers) => {
    await fc.assert(
      fc.asyncProperty(fc.record(headers), async (headers) => {
        expect(await statusOf({ ...call, headers: { ...headers, 'Content-Type': 'application/json' } })).toBe(
          401,
        )
      }),
      runs(5000),
    )
  })
})
