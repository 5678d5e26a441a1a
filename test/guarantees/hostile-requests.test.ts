import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { SignJWT } from 'jose'
import { routes } from '#functions/routes.ts'
import { pathOf, type Route } from '#shared/platform/request/route.ts'
import { validCall, withQuery } from '#test/support/examples.ts'
import { runs } from '#test/support/runs.ts'
import { type Call, type Service, startService } from '#test/support/service.ts'
import { localSettings, profile, signingKey } from '#test/support/settings.ts'
import { signed } from '#test/support/signed-events.ts'
import { signedByStripe } from '#test/support/stripe-events.ts'

interface Parameter {
  $ref?: string
  in?: string
  name?: string
}
const openapi: {
  paths: Record<string, Record<string, { parameters?: Parameter[] }>>
  components: { parameters: Record<string, Parameter> }
} = JSON.parse(readFileSync(join(import.meta.dirname, '../../openapi.json'), 'utf8'))

let service: Service
beforeAll(async () => {
  const settings = profile('shared/settings/profiles/local.json', { 'imports.inProgressPerTenant': 1000 })
  service = await startService({ settings })
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

describe('a request gets a status below 500, whatever its query, headers and body contain:', () => {
  const as = { tenant: 'acme', role: 'Admin', scope: 'codes:read codes:write' }
  const text = fc.oneof(
    fc.constantFrom('', '*', '"1"', '1,2', '-1', '1e9', 'null', '{}', '%', '%00', 'a.b', 'eyJ9', 'true'),
    fc.string({ unit: 'binary', maxLength: 40 }),
  )
  /** Returns at most two of these names, each with any text. */
  const named = (names: readonly string[]) =>
    fc.dictionary(fc.constantFrom('unknown', ...names), text, { maxKeys: 2 })
  /** Returns bodies like a valid one. */
  function bodiesLike(valid: unknown): fc.Arbitrary<string | undefined> {
    if (valid === undefined) return fc.constant(undefined)
    const isJson = typeof valid !== 'string' || valid.startsWith('{')
    if (!isJson) return text
    const fields = typeof valid === 'string' ? JSON.parse(valid) : valid
    return fc.oneof({ weight: 4, arbitrary: someOf(fields) }, json).map((body) => JSON.stringify(body))
  }
  const signatureOf = ({ auth, signer }: Route, body = '') => {
    if (auth !== 'signature') return {}
    return signer ? signedByStripe(body) : signed(body, { id: crypto.randomUUID() })
  }

  test.each(routes.map(({ route }) => route))('$operation', async (route) => {
    const valid: Call = {
      ...(await validCall(route, service, 'acme')),
      ...(route.auth === 'bearer' && { as }),
    }
    service.headersRead.clear()
    await service.call(valid)
    const headersRead = [...service.headersRead].filter((name) => name !== 'authorization')
    await fc.assert(
      fc.asyncProperty(
        named(queryNames(route)),
        named(headersRead),
        bodiesLike(valid.body),
        async (query, headers, body) => {
          const sent = { ...valid, path: withQuery(valid.path, query), ...(body !== undefined && { body }) }
          const all = { ...valid.headers, ...signatureOf(route, body), ...headers }
          expect(await statusOf({ ...sent, headers: all })).toBeLessThan(500)
        },
      ),
      runs(500),
    )
  })
})

/** Returns the names of the query parameters of an operation. */
function queryNames({ method, path }: Route): string[] {
  const { paths, components } = openapi
  const { parameters = [] } = paths[pathOf({ path }, service.settings)]?.[method.toLowerCase()] ?? {}
  return parameters
    .map((one) => (one.$ref ? components.parameters[one.$ref.split('/').at(-1) ?? ''] : one))
    .flatMap((one) => (one?.in === 'query' && one.name ? [one.name] : []))
}
