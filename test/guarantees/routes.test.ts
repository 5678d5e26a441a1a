import { beforeAll, describe, expect, test } from '@jest/globals'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type * as v from 'valibot'
import { jsonSchema } from '#bin/describe/openapi/schemas.ts'
import { routes } from '#functions/routes.ts'
import { errorCatalog, messageId } from '#shared/error-catalog.ts'
import { permissions } from '#shared/platform/identity/authorize.ts'
import { securityHeaders } from '#shared/platform/request/respond.ts'
import { bodyLimitOf, hasBody, pathOf, type Route } from '#shared/platform/request/route.ts'
import { validCall, withQuery } from '#test/support/examples.ts'
import { otherThan } from '#test/support/one-time-codes.ts'
import { outcome } from '#test/support/outcome.ts'
import { type Answer, type Call, type Service, startService } from '#test/support/service.ts'
import { profile } from '#test/support/settings.ts'
import { signed } from '#test/support/signed-events.ts'
import { signedByStripe } from '#test/support/stripe-events.ts'
import { writtenLog } from '#test/support/written-log.ts'

let service: Service
beforeAll(async () => {
  // The number of calls in these tests exceeds the throttles.
  const limits = {
    'discount.verify': [{ limit: 1000, windowSeconds: 60, per: 'principal', counts: 'failures' }],
  }
  const settings = profile('shared/settings/profiles/local.json', {
    'limits.other': limits,
    'imports.inProgressPerTenant': 1000,
  })
  service = await startService({ settings })
})

const tenant = 'acme'
const admin = { tenant, role: 'Admin', scope: 'codes:read codes:write' }

/** Returns a valid call of a route, as an Admin where it needs a caller. */
async function callOf(route: Route, as: object = admin, of = tenant): Promise<Call> {
  return { ...(await validCall(route, service, of)), ...(route.auth === 'bearer' && { as }) }
}

/** Checks a body against the description of a schema, without any field that it does not name. */
function expectDescribed(body: unknown, schema: v.GenericSchema): void {
  if (schema.type === 'undefined') {
    expect(body).toBeUndefined()
    return
  }
  const ajv = new Ajv2020({ strict: false })
  addFormats.default(ajv)
  expect([ajv.validate(jsonSchema(schema), body), ajv.errors]).toEqual([true, null])
}

/** Returns the call with the same key and another valid payload. */
async function withOtherPayload(route: Route, call: Call): Promise<Call> {
  // A caller without a token has no tenant.
  if (route.auth === 'bearer') return { ...call, path: withQuery(call.path, { tenant: 'elsewhere' }) }
  if (route.operation !== 'otp.verify') return { ...call, body: (await callOf(route)).body }
  const { code } = call.body as { code: string }
  return { ...call, body: { ...(call.body as object), code: otherThan(code) } }
}

/** Returns the call with another body, signed again if it has a signature. */
function withBody(route: Route, call: Call, body: object): Call {
  if (route.auth !== 'signature') return { ...call, body }
  const text = JSON.stringify(body)
  const headers = route.signer ? signedByStripe(text) : signed(text, { id: 'e1' })
  return { ...call, body: text, headers: { ...call.headers, ...headers } }
}

function expectEnvelope(answer: Answer, status: number, code: string) {
  expect(outcome(answer)).toBe(`${status} ${code}`)
  const { error } = answer.json
  expect(Object.keys(answer.json)).toEqual(['error'])
  expect(error).toEqual({
    code,
    message_id: messageId(code),
    http: status,
    retryable: errorCatalog[code as keyof typeof errorCatalog].retryable,
    correlation_id: answer.headers['X-Correlation-Id'],
    details: expect.any(Object),
    docs: `${service.settings['errors.docs']}#${code}`,
  })
}

const all = routes.map(({ route }) => route)
const bearer = all.filter(({ auth }) => auth === 'bearer')

/** The access that each operation needs, and the scope of tokens. `authorize.test.ts` says which roles have it. */
const access = {
  'orders.create': ['create'],
  'orders.read': ['read'],
  'orders.list': ['list'],
  'refunds.create': ['create'],
  'refunds.read': ['read'],
  'codes.create': ['create', 'codes:write'],
  'codes.read': ['read', 'codes:read'],
  'codes.list': ['list', 'codes:read'],
  'codes.update': ['update', 'codes:write'],
  'codes.replace': ['update', 'codes:write'],
  'codes.soft-delete': ['soft_delete', 'codes:write'],
  'codes.hard-delete': ['hard_delete', 'codes:write'],
  'codes.restore': ['restore', 'codes:write'],
  'codes.share': ['share', 'codes:write'],
  'codes.export': ['transfer', 'codes:read'],
  'codes.import': ['transfer', 'codes:write'],
  'codes.bulk-update': ['transfer', 'codes:write'],
  'discount.verify': ['read'],
  'imports.create': ['transfer'],
  'operations.read': ['read'],
  'operations.cancel': ['transfer'],
}

test('each operation needs its own access and scope', () => {
  const found = bearer.map(({ operation, access, scope }) => [operation, scope ? [access, scope] : [access]])
  expect(Object.fromEntries(found)).toMatchObject(access)
})

test('each operation that replaces what its caller has read requires If-Match', () => {
  const required = all.filter(({ ifMatch }) => ifMatch === 'required').map(({ operation }) => operation)
  expect(required).toEqual(expect.arrayContaining(['codes.update', 'codes.replace']))
})

describe.each(all.filter(({ ifMatch }) => ifMatch).map((route) => [route.operation, route] as const))(
  '%s, with a precondition,',
  (_, route) => {
    test('needs the current tag in If-Match, and another one in If-None-Match', async () => {
      const call = await callOf(route)
      const resource = call.path.replace(/(:[a-z]+)?(\?.*)?$/, '')
      // A soft-deleted item is read, too.
      const { ETag: current = '' } = (await service.call({ path: resource, as: admin })).headers
      const withTags = (headers: Record<string, string>) =>
        service.call({ ...call, headers: { ...call.headers, 'If-Match': current, ...headers } })
      for (const tags of [{ 'If-Match': '"stale"' }, { 'If-Match': '*', 'If-None-Match': current }]) {
        const rejected = await withTags(tags)
        expectEnvelope(rejected, 412, 'CONFLICT.etag.mismatch')
        expect(rejected.json.error.details).toEqual({ etag: current })
      }
      const { status } = await withTags({ 'If-None-Match': '"stale"' })
      expect(status).toBe(route.reply.status(service.settings))
    })
  },
)

describe.each(all.map((route) => [route.operation, route] as const))('%s', (_, route) => {
  test('returns a response that matches its description, with every common header', async () => {
    const answer = await service.call({ ...(await callOf(route)) })
    expect(answer.status).toBe(route.reply.status(service.settings))
    expectDescribed(answer.json ?? answer.body, route.reply.schema(service.settings))
    expect(answer.headers).toMatchObject({
      ...securityHeaders,
      'X-Correlation-Id': expect.stringMatching(/^[\w.-]{1,64}$/),
      'Cache-Control': expect.stringMatching(/no-store|no-cache/),
    })
    expect('ETag' in answer.headers).toBe(route.reply.etag === true)
    expect('Location' in answer.headers).toBe(route.reply.location === true)
    expect(answer.headers['Idempotency-Status']).toBe(route.idempotency === 'none' ? undefined : 'stored')
  })

  test('rejects an oversized body before any other check', async () => {
    const max = bodyLimitOf(route, service.settings)
    const call = await validCall(route, service, tenant)
    const over = await service.call({ ...call, body: `"${'x'.repeat(max)}"` })
    expectEnvelope(over, 413, 'VALIDATION.body.too_large')
    expect(over.json.error.details.fields.body).toMatchObject({ reason: 'too_large', max, actual: max + 2 })
  })

  test('rejects an unknown query parameter', async () => {
    if (route.ignoresCallerOptions) return
    const call = await callOf(route)
    const answer = await service.call({ ...call, path: withQuery(call.path, { surprise: '1' }) })
    expectEnvelope(answer, 400, route.listing ? 'VALIDATION.filter.unknown_key' : 'VALIDATION.field.unknown')
  })

  test('responds to HEAD like GET, without an effect unless it is denied', async () => {
    if (route.method !== 'GET') return
    const call = await callOf(route)
    const got = await service.call(call)
    const before = await service.items(tenant, 'audit')
    const head = await service.call({ ...call, method: 'HEAD' })
    expect([head.status, head.headers.ETag]).toEqual([got.status, got.headers.ETag])
    expect(await service.items(tenant, 'audit')).toEqual(before)
    if (route.auth === 'none') return
    const denied = await service.call({ ...call, method: 'HEAD', as: { tenant, role: 'Owner' } })
    expect(denied.status).toBe(403)
    const after = await service.items(tenant, 'audit')
    expect(after.slice(before.length)).toMatchObject([{ result: 'deny', reason: 'AUTHZ.role.denied' }])
  })
})

describe.each(bearer.map((route) => [route.operation, route] as const))('%s, to a caller', (_, route) => {
  test('without credentials, returns 401 with WWW-Authenticate', async () => {
    const call = await validCall(route, service, tenant)
    const answer = await service.call(call)
    expectEnvelope(answer, 401, 'AUTH.invalid_credentials')
    expect(answer.headers['WWW-Authenticate']).toMatch(/^Bearer realm=/)
  })

  test.each(['Viewer', 'Editor', 'Admin', 'Service', 'Owner', undefined] as const)(
    'of role %s, permits what the permissions allow and audits denials',
    async (role) => {
      if (!route.access) throw new Error('a bearer route has a row of the matrix')
      const own = `${route.operation}-${role}`.replace('.', '-')
      const as = { tenant: own, role: role ?? [], sub: 'u1', scope: admin.scope }
      const row: Record<string, string> = permissions[route.access]
      const reach = role === 'Service' ? row.Editor : (row[String(role)] ?? 'deny')
      const answer = await service.call(await callOf(route, as, own))
      const denied = (await service.items(own, 'audit')).filter(({ result }) => result === 'deny')
      if (reach === 'deny') {
        expectEnvelope(answer, 403, 'AUTHZ.role.denied')
        expect(denied).toEqual([
          expect.objectContaining({
            result: 'deny',
            reason: 'AUTHZ.role.denied',
            action: route.action ?? route.operation,
            actor_id: 'u1',
          }),
        ])
      } else {
        expect(answer.status).toBe(route.reply.status(service.settings))
        expect(denied).toEqual([])
      }
    },
  )

  test.each(['Viewer', 'Editor', 'Admin', 'Service'] as const)(
    'of role %s from another tenant, hides the tenant or requires an Admin',
    async (role) => {
      if (!route.access) throw new Error('a bearer route has a row of the matrix')
      const owner = `owner-${route.operation}-${role}`.replace('.', '-')
      const actor = `actor-${route.operation}-${role}`.replace('.', '-')
      const as = { tenant: actor, role, scope: admin.scope }
      const call = await callOf(route, as, owner)
      const addressed = await service.call({ ...call, path: withQuery(call.path, { tenant: owner }) })
      const row: Record<string, string> = permissions[route.access]
      const reach = row[role === 'Service' ? 'Editor' : role]
      if (reach === 'any') {
        expect(addressed.status).toBe(route.reply.status(service.settings))
        return
      }
      expectEnvelope(
        addressed,
        reach === 'deny' ? 403 : 404,
        reach === 'deny' ? 'AUTHZ.role.denied' : 'AUTHZ.scope.tenant',
      )
      expect(JSON.stringify(addressed)).not.toContain(owner)
      const path = pathOf(route, service.settings)
      if (!path.includes('{') || reach === 'deny') return
      const headers = { ...call.headers, 'X-Correlation-Id': 'same' }
      const foreign = await service.call({ ...call, headers })
      const absent = await service.call({
        ...call,
        path: call.path.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, '01900000-0000-8000-8000-000000000000'),
        headers,
      })
      expect(foreign).toEqual(absent)
      expect(foreign.status).toBe(404)
    },
  )
})

describe.each(
  all.filter((route) => hasBody(route) && !route.bodyTypes).map((route) => [route.operation, route] as const),
)('%s, with a body,', (_, route) => {
  test('rejects an unknown field, unless the form is that of another service', async () => {
    const call = await callOf(route)
    const valid = typeof call.body === 'string' ? JSON.parse(call.body) : call.body
    const answer = await service.call(withBody(route, call, { ...valid, surprise: 1 }))
    if (route.signer) return expect(answer.status).toBe(route.reply.status(service.settings))
    expectEnvelope(answer, 400, 'VALIDATION.field.unknown')
    expect(answer.json.error.details.fields).toMatchObject({ surprise: { reason: 'unknown' } })
  })

  test('rejects another content type', async () => {
    const call = await callOf(route)
    const answer = await service.call({ ...call, headers: { ...call.headers, 'Content-Type': 'text/plain' } })
    expectEnvelope(answer, 415, 'VALIDATION.content_type.unsupported')
    const named = { POST: 'Accept-Post', PATCH: 'Accept-Patch', PUT: 'Accept' }
    const accepting = Object.entries(answer.headers).filter(([name]) => /^accept(-p|$)/i.test(name))
    expect(accepting).toEqual([[named[route.method as keyof typeof named], 'application/json']])
  })
})

describe.each(
  all.filter(({ idempotency }) => idempotency !== 'none').map((route) => [route.operation, route] as const),
)('%s, with an idempotency key,', (_, route) => {
  test('replays the same bytes', async () => {
    const call = await callOf(route)
    const first = await service.call(call)
    const again = await service.call(call)
    expect([again.status, again.body]).toEqual([first.status, first.body])
    for (const name of ['ETag', 'Location']) expect(again.headers[name]).toBe(first.headers[name])
    expect([first, again].map(({ headers }) => headers['Idempotency-Status'])).toEqual(['stored', 'replayed'])
  })

  // The key of an anonymous request includes its address, the only field of these operations.
  const onlyAddress = ['otp.request', 'login.reset-password'].includes(route.operation)

  test(
    onlyAddress ? 'treats the key of another address as a different key' : 'rejects another payload',
    async () => {
      const call = await callOf(route)
      await service.call(call)
      const other = await service.call(await withOtherPayload(route, call))
      if (onlyAddress) expect(other.headers['Idempotency-Status']).toBe('stored')
      else expectEnvelope(other, 409, 'CONFLICT.idempotency.payload_mismatch')
    },
  )

  test('requires the key if the contract requires one', async () => {
    const call = await callOf(route)
    const { 'Idempotency-Key': _, ...headers } = call.headers as Record<string, string>
    const answer = await service.call({ ...call, headers })
    const decided = service.settings['idempotency.requiredOn'].includes(route.operation)
    if (route.idempotency === 'required' || decided)
      expectEnvelope(answer, 400, 'VALIDATION.idempotency_key.required')
    else expect(answer.status).toBe(route.reply.status(service.settings))
  })
})

test('the log contains nothing that a caller sent but the tenant of the credential, and each record has a code', () => {
  const written = writtenLog((log) => service.lines.forEach(log.request))
  expect(written.length).toBe(service.lines.length)
  expect(written.length).toBeGreaterThan(50)
  for (const record of written) {
    expect(JSON.parse(record)).toMatchObject({
      code: expect.stringMatching(/^REQUEST_/),
      correlation_id: expect.any(String),
    })
    const { tenant: _, ...others } = JSON.parse(record)
    for (const secret of ['jane@', 'cart-1', 'Bearer', 'owner-', '"u1"'])
      expect(JSON.stringify(others)).not.toContain(secret)
  }
})
