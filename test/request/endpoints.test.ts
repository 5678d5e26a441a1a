import { createSecretKey } from 'node:crypto'
import { beforeEach, describe, expect, test } from '@jest/globals'
import * as v from 'valibot'
import { systemClock } from '#shared/platform/base/clock.ts'
import { fail } from '#shared/platform/base/failure.ts'
import { sessionCookie, sessionOf, sessionSecret, startSession } from '#shared/platform/identity/session.ts'
import {
  created,
  defineEndpoint,
  type Input,
  noContent,
  ok,
  rejection,
} from '#shared/platform/request/endpoint.ts'
import { handleRequest, openRequest, respondTimeout } from '#shared/platform/request/handle-request.ts'
import { queryFlag } from '#shared/platform/request/query-flag.ts'
import { preflightHeaders, prematureSunsets, securityHeaders } from '#shared/platform/request/respond.ts'
import { defineRoute, type Route } from '#shared/platform/request/route.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import { create } from '#shared/platform/table/table.ts'
import type { Settings } from '#shared/settings/register.ts'
import { inMemoryProvider, payEndpoint } from '#test/faults/payment-saga.ts'
import { codeList } from '#test/listing/code-list.ts'
import { idAt } from '#test/support/ids.ts'
import { eventsOf } from '#test/support/item-events.ts'
import { outcome } from '#test/support/outcome.ts'
import { type Answer, type Call, type Service, startService } from '#test/support/service.ts'
import { localSettings, shortTimeoutSettings } from '#test/support/settings.ts'
import { signed } from '#test/support/signed-events.ts'
import { newTable } from '#test/support/tables.ts'

/** The path of a request through small endpoints: each step of it is seen in a response, a log line or a stored item. */

const start = Date.parse('2026-03-01T12:00:00Z')
let now = start
const clock = {
  ...systemClock,
  now: () => now,
  sleep: async (milliseconds: number) => {
    now += milliseconds
  },
}
const id = idAt(start)
const text = { summary: '', description: '', impact: '', errors: [], uses: [] }
const shown = v.looseObject({})

/** What the endpoint received last. */
let input: Input
/** The scope that it received. */
let scope: object
const provider = inMemoryProvider()
/** What the endpoint throws. */
let thrown: unknown
let failing = false
/** The milliseconds that the endpoint takes. */
let duration = 0
const taken = <Body>(received: Input<Body>) => {
  input = received
  now += duration
  if (failing) throw thrown
  return received
}

const things = { ...text, auth: 'bearer', reply: { status: () => 200, schema: () => shown } } as const
const createThing = defineRoute({
  ...things,
  operation: 'things.create',
  action: 'things.make',
  method: 'POST',
  path: '/things',
  access: 'create',
  idempotency: 'accepted',
  auditedFields: ['name'],
  payloadKilobytes: 1,
  body: () =>
    v.strictObject({
      name: v.pipe(v.string(), v.maxLength(7), v.regex(/^[a-z]*$/)),
      size: v.optional(v.number()),
    }),
  headers: () => ({ 'X-Cart': { description: '', key: 'discount.cart', example: 'c1' } }),
  reply: { ...things.reply, status: () => 201, replayStatus: () => 200, etag: true, location: true },
  // The settings of a test let sessions use it, which are not for its access otherwise.
  table: { put: ['order'], get: ['session'] },
})
const readThing = defineRoute({
  ...things,
  operation: 'things.read',
  method: 'GET',
  path: '/things/{id}',
  access: 'read',
  idempotency: 'none',
  query: () => v.strictObject({ part: v.optional(queryFlag()), side: v.optional(v.string()) }),
})
const partOfThing = { ...readThing, operation: 'things.part', when: 'part' }
const changeThing = defineRoute({
  ...things,
  operation: 'things.change',
  method: 'PATCH',
  path: '/things/{id}',
  access: 'update',
  idempotency: 'required',
  ifMatch: 'required',
  reason: () => ({ header: 'X-Reason', maxLength: 9 }),
})
const restoreThing: Route = {
  ...changeThing,
  operation: 'things.restore',
  method: 'POST',
  path: '/things/{id}:restore',
  ifMatch: 'accepted',
}
const { reason: _, ...unexplained } = restoreThing
const archiveThing: Route = { ...unexplained, operation: 'things.archive', path: '/things/{id}:archive' }
const exportThings = defineRoute({
  ...things,
  operation: 'things.export',
  method: 'GET',
  path: '/exports',
  auth: 'none',
  idempotency: 'none',
  reply: { status: () => 200, schema: () => v.string(), mediaType: () => 'text/csv' },
})
const importThings = defineRoute({
  ...things,
  operation: 'things.import',
  method: 'POST',
  path: () => '/imports',
  auth: 'none',
  idempotency: 'accepted',
  confidential: true,
  setsCookies: true,
  throttle: () => [{ limit: 3, windowSeconds: 60, by: ['source'], counts: 'failures' }],
  bodyBytes: () => 64,
  bodyTypes: () => ['application/json', 'text/csv'],
  body: (_, type) =>
    type === 'text/csv' ? v.string() : v.strictObject({ email: v.optional(v.string()), secret: v.any() }),
})
const receiveThing = defineRoute({
  ...things,
  operation: 'things.receive',
  method: 'POST',
  path: '/events',
  auth: 'signature',
  idempotency: 'none',
  body: () => v.looseObject({}),
})
const nameThing = {
  ...exportThings,
  operation: 'things.name',
  path: '/name',
  reply: { ...exportThings.reply, mediaType: () => 'application/json' },
}
const unlisted: Route = { ...readThing, operation: 'things.unlisted', path: '/unlisted' }
delete unlisted.access

const view = { id, name: 'a', version: 1 }
const etag = '"v1"'
const answer = { decide: (received: Input) => ok(taken(received) && view, { etag }) }
const endpoints = [
  defineEndpoint(createThing, {
    decide(received, { scope }) {
      const { name } = taken(received).body
      const audit = { action: 'things.make', target: 'things' }
      if (name === 'refused') return rejection(fail('CONFLICT.soft_deleted'), { audit })
      const key = keyOf(scope.tenant, 'order', id)
      const effects = {
        writes: [create({ ...key, id, name }, 'CONFLICT.soft_deleted')],
        audit,
        events: [
          { name: 'thing.made.v1', carriers: ['order'] as const, data: { id, tenant_id: scope.tenant } },
        ],
        ...(name === 'taken' && { onConflict: async () => ok({ ...view, name: 'conflict' }) }),
      }
      return created(name === 'wrong' ? ('no object' as never) : view, {
        etag,
        location: `/v1/things/${id}`,
        headers: { 'X-Thing': 'yes' },
        ...effects,
      })
    },
  }),
  defineEndpoint(readThing, answer),
  defineEndpoint(partOfThing, answer),
  defineEndpoint(changeThing, answer),
  defineEndpoint(restoreThing, answer),
  defineEndpoint(archiveThing, answer),
  defineEndpoint(exportThings, { decide: () => ok('a,b') }),
  defineEndpoint(importThings, {
    decide(received, context) {
      const { body } = taken(received)
      scope = context.scope
      if (body === 'refused') return rejection(fail('VALIDATION.body.invalid'))
      return body === '' ? noContent() : ok({ made: true })
    },
    cookies: async ({ reply: { made } }) => [`made=${made}`],
  }),
  defineEndpoint(receiveThing, answer),
  defineEndpoint(unlisted, answer),
  defineEndpoint(nameThing, { decide: () => ok('a') }),
  payEndpoint(provider),
  codeList,
]

let tableName: string
let service: Service
const serve = (changes: Partial<Settings> = {}) =>
  startService({ settings: { ...shortTimeoutSettings, ...changes }, clock, tableName, only: endpoints })
beforeEach(async () => {
  now = start
  failing = false
  duration = 0
  tableName = await newTable()
  service = await serve()
})

const editor = { tenant: 'acme', role: 'Editor' }
const make = (changes: Partial<Call> = {}, by = service): Promise<Answer> =>
  by.call({ method: 'POST', path: '/things', as: editor, body: { name: 'a' }, ...changes })
const read = (headers = {}, changes: Partial<Call> = {}): Promise<Answer> =>
  service.call({ path: `/things/${id}`, as: editor, headers, ...changes })
const change = (headers: Record<string, string>, changes: Partial<Call> = {}): Promise<Answer> =>
  service.call({
    method: 'PATCH',
    path: `/things/${id}`,
    as: editor,
    headers: { 'Idempotency-Key': crypto.randomUUID(), 'If-Match': etag, 'X-Reason': 'because', ...headers },
    ...changes,
  })
/** Sends the change without one of its headers. */
const changeWithout = (name: string): Promise<Answer> => {
  const all: Record<string, string> = { 'Idempotency-Key': 'k', 'If-Match': etag, 'X-Reason': 'because' }
  const { [name]: _absent, ...headers } = all
  return service.call({ method: 'PATCH', path: `/things/${id}`, as: editor, headers })
}
const send = (body: unknown, headers = {}, by = service): Promise<Answer> =>
  by.call({ method: 'POST', path: '/imports', body, headers })
const problemsOf = ({ json }: Answer) => json.error.details.fields
const denials = async () => (await service.items('acme', 'audit')).filter(({ result }) => result === 'deny')

describe('a response', () => {
  const common = {
    ...securityHeaders,
    'X-Correlation-Id': 'c1',
    Vary: 'Origin',
    'Content-Type': 'application/json',
  }
  const headers = { 'X-Correlation-Id': 'c1' }

  test('has its status, body and headers, and one log line', async () => {
    const { json: __, ...made } = await make({ headers })
    expect(made).toEqual({
      status: 201,
      body: JSON.stringify(view),
      cookies: [],
      headers: {
        ...common,
        'Cache-Control': 'no-store',
        ETag: etag,
        Location: `/v1/things/${id}`,
        'X-Thing': 'yes',
      },
    })
    expect(service.lines).toMatchObject([
      { operation: 'things.create', status: 201, failure: undefined, durationMilliseconds: 0 },
    ])
  })

  test('of a read may be stored by the caller', async () => {
    const got = await read(headers)
    expect(got.headers).toEqual({ ...common, 'Cache-Control': 'private, no-cache', ETag: etag })
    expect((await change({})).headers['Cache-Control']).toBe('no-store')
  })

  test('has a new correlation id if the request has none', async () => {
    expect((await make()).headers['X-Correlation-Id']).toMatch(/^[0-9a-f]{8}-[0-9a-f-]{27}$/)
  })

  test('continues the trace of its request', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const trace = { traceparent, tracestate: 'a=b', baggage: 'c=d' }
    expect((await read({ ...headers, ...trace })).headers).toMatchObject({ ...headers, ...trace })
  })

  test('of a read is 304 for the known entity, also to HEAD', async () => {
    const known = { ...headers, 'If-None-Match': `"v0", W/${etag}` }
    const { 'Content-Type': __, ...others } = common
    for (const method of ['GET', 'HEAD']) {
      const got = await read(known, { method })
      expect(got).toMatchObject({ status: 304, body: undefined })
      expect(got.headers).toEqual({ ...others, 'Cache-Control': 'private, no-cache', ETag: etag })
    }
  })

  test.each([
    ['"v0"', 200],
    ['*', 304],
    [' * ', 304],
    [`"v0" , ${etag}`, 304],
    ['v1', 200],
    ['"W/v1"', 200],
  ])('with If-None-Match %s is %d', async (tag, status) => {
    expect((await read({ 'If-None-Match': tag })).status).toBe(status)
  })

  test.each(['GET', 'HEAD'])('of %s is 412 if If-Match names another entity', async (method) => {
    const tags = ['"v0"', `W/${etag}`, '*', `"v0", ${etag}`]
    const got = await Promise.all(tags.map((tag) => read({ 'If-Match': tag }, { method })))
    expect(got.map(({ status }) => status)).toEqual([412, 412, 200, 200])
  })

  test('of a read is 412 and not 304 if both conditions say so', async () => {
    const got = await read({ 'If-Match': '"v0"', 'If-None-Match': etag })
    expect(outcome(got)).toBe('412 CONFLICT.etag.mismatch')
    expect(got.json.error.details).toEqual({ etag })
    expect(service.lines).toMatchObject([{ status: 412, failure: { code: 'CONFLICT.etag.mismatch' } }])
  })

  test('without an entity tag meets no If-Match and fails none', async () => {
    expect((await service.call({ path: '/exports', headers: { 'If-Match': '"v0"' } })).status).toBe(200)
  })

  test('of a write is no 304', async () => {
    expect((await change({ 'If-None-Match': etag })).status).toBe(200)
  })

  test('to HEAD is that of GET, so the gateway sends its length', async () => {
    const headers = { 'X-Correlation-Id': 'same' }
    expect(await read(headers, { method: 'HEAD' })).toEqual(await read(headers))
  })

  test('that is no JSON is sent as it is', async () => {
    const got = await service.call({ path: '/exports' })
    expect([got.body, got.headers['Content-Type'], got.headers['Cache-Control']]).toEqual([
      'a,b',
      'text/csv',
      'no-store',
    ])
    for (const name of ['ETag', 'Location']) expect(got.headers).not.toHaveProperty(name)
    expect((await service.call({ path: '/exports', headers: { 'If-None-Match': '*' } })).status).toBe(200)
  })

  test('that is a text is quoted as JSON', async () => {
    expect((await service.call({ path: '/name' })).body).toBe('"a"')
  })

  test('of a stored refusal is replayed with its status, without cookies', async () => {
    const keyed = { headers: { 'Idempotency-Key': 'k' }, body: { name: 'refused' } }
    for (const status of ['stored', 'replayed']) {
      const got = await make(keyed)
      expect([outcome(got), got.headers['Idempotency-Status']]).toEqual(['409 CONFLICT.soft_deleted', status])
    }
    expect(service.lines[0]).toMatchObject({ failure: { code: 'CONFLICT.soft_deleted' } })
    expect(await service.items('acme', 'audit')).toHaveLength(1)
    const refused = await send('refused', { 'Content-Type': 'text/csv' })
    expect([refused.status, refused.cookies]).toEqual([400, []])
  })

  test('is committed with its audit record and its events', async () => {
    await make()
    expect(await service.items('acme', 'audit')).toMatchObject([{ action: 'things.make', result: 'allow' }])
    const [item] = await service.items('acme', 'order')
    expect(eventsOf(item as never)).toMatchObject([{ type: 'thing.made', data: { id } }])
  })

  test('without a body has no media type and no cookies', async () => {
    const got = await send('', { 'Content-Type': 'text/csv' })
    expect(got).toMatchObject({ status: 204, body: undefined, cookies: [] })
    expect(got.headers).not.toHaveProperty('Content-Type')
  })

  test('that violates its schema is a fault, and nothing is stored', async () => {
    const got = await make({ body: { name: 'wrong' }, failsInternally: true })
    expect(outcome(got)).toBe('500 INTERNAL.unexpected')
    expect(await service.items('acme', 'order')).toEqual([])
  })

  test('to a conflict is decided again and checked by the schema', async () => {
    await make()
    expect((await make()).json.error.code).toBe('CONFLICT.soft_deleted')
    expect(await make({ body: { name: 'taken' } })).toMatchObject({ status: 200, json: { name: 'conflict' } })
  })

  test('of a replay has its own status', async () => {
    const keyed = { headers: { 'Idempotency-Key': 'k' } }
    expect(await make(keyed)).toMatchObject({ status: 201, headers: { 'Idempotency-Status': 'stored' } })
    expect(await make(keyed)).toMatchObject({ status: 200, headers: { 'Idempotency-Status': 'replayed' } })
  })

  test('has cookies, also for a replay', async () => {
    for (const status of ['stored', 'replayed']) {
      const got = await send({ secret: 1 }, { 'Idempotency-Key': 'k' })
      expect([got.headers['Idempotency-Status'], got.cookies]).toEqual([status, ['made=true']])
    }
  })

  test('that comes early is a timeout and logged once', async () => {
    const received = {
      ...{ method: 'GET', path: '/exports', params: {}, query: [], headers: {}, body: undefined },
      sourceAddress: '192.0.2.1',
    }
    const opened = openRequest(
      endpoints.filter(({ route }) => route === exportThings),
      received,
      service.runtime,
    )
    const early = respondTimeout(opened.context)
    expect([early.status, JSON.parse(early.body ?? '').error.code]).toEqual([504, 'DEPENDENCY.timeout'])
    expect(early.cookies).toEqual([])
    await handleRequest(opened, AbortSignal.abort())
    expect(service.lines.map(({ status }) => status)).toEqual([504])
  })
})

describe('a failure', () => {
  beforeEach(() => {
    failing = true
  })

  test('is rendered as the envelope, with its headers', async () => {
    thrown = fail('CONFLICT.soft_deleted', { details: { a: 1 }, headers: { 'X-Hint': 'yes' } })
    const got = await make({ headers: { 'X-Correlation-Id': 'c1' } })
    expect(got).toMatchObject({
      status: 409,
      headers: { 'X-Hint': 'yes', 'Content-Type': 'application/json', 'Cache-Control': 'no-store' },
      json: { error: { code: 'CONFLICT.soft_deleted', http: 409, correlation_id: 'c1', details: { a: 1 } } },
    })
    expect(got.headers).not.toHaveProperty('Retry-After')
    expect(service.lines).toMatchObject([{ status: 409, failure: { code: 'CONFLICT.soft_deleted' } }])
  })

  test('of another service says when to retry', async () => {
    thrown = fail('DEPENDENCY.unavailable')
    expect(await make()).toMatchObject({
      status: 503,
      headers: { 'Retry-After': expect.stringMatching(/^[1-5]$/) },
    })
  })

  test('that was not foreseen is internal, and its cause is logged', async () => {
    thrown = new Error('secret')
    const got = await make({ failsInternally: true })
    expect(outcome(got)).toBe('500 INTERNAL.unexpected')
    expect(got.body).not.toContain('secret')
    expect(service.lines).toMatchObject([{ failure: { cause: thrown } }])
  })

  test('has no cookies', async () => {
    thrown = fail('CONFLICT.soft_deleted')
    expect((await send({ secret: 1 })).cookies).toEqual([])
  })

  test.each([
    ['AUTHZ.role.denied', 1],
    ['POLICY.mfa.required', 1],
    ['CONFLICT.soft_deleted', 0],
  ] as const)('with %s leaves %d audit records', async (code, count) => {
    thrown = fail(code)
    await make()
    expect(await denials()).toHaveLength(count)
  })
})

describe('the audit record of a denial', () => {
  const viewer = { tenant: 'acme', role: 'Viewer' }

  test('has the action, the area and the fields that may be audited', async () => {
    expect(outcome(await make({ as: viewer, body: { name: 'a', size: 1 } }))).toBe('403 AUTHZ.role.denied')
    expect(await denials()).toMatchObject([
      { action: 'things.make', reason: 'AUTHZ.role.denied', target: 'things', after: { name: 'a' } },
    ])
    expect((await denials())[0]?.after).toEqual({ name: 'a' })
  })

  test('has nothing of an invalid body', async () => {
    await make({ as: viewer, body: { name: 'too long.' } })
    const [record] = await denials()
    expect(record?.after).toBeUndefined()
  })

  test('has no fields without a list of them', async () => {
    await change({}, { as: viewer })
    expect(await denials()).toMatchObject([{ action: 'things.change', target: 'things' }])
    expect((await denials())[0]).not.toHaveProperty('after')
  })

  test('of another tenant has its area only', async () => {
    await change({}, { path: `/things/${id}?tenant=other` })
    expect(await denials()).toMatchObject([{ reason: 'AUTHZ.scope.tenant', target: 'things' }])
  })

  test('replaces the response if it cannot be written', async () => {
    const { openTable } = service.runtime
    service.runtime.openTable = (...opening) => ({
      ...openTable(...opening),
      put: () => Promise.reject(fail('DEPENDENCY.unavailable')),
    })
    expect(outcome(await make({ as: viewer }))).toBe('503 DEPENDENCY.unavailable')
  })

  test('is not written without a caller, who learns how to authenticate', async () => {
    const { status, headers, json } = await make({ as: undefined as never })
    expect(status).toBe(401)
    expect(json.error.details).toEqual({ www_authenticate: headers['WWW-Authenticate'] })
    expect(await denials()).toEqual([])
  })
})

describe('a request', () => {
  test('for an unknown verb or an unknown part is not found', async () => {
    const verbs = endpoints.filter(({ route }) => [restoreThing, archiveThing].includes(route as Route))
    const received = {
      ...{ method: 'POST', path: '/', query: [], body: undefined, sourceAddress: '192.0.2.1' },
      headers: { 'x-request-timeout': 'x' },
      params: { id: `${id}:destroy` },
    }
    const response = await handleRequest(openRequest(verbs, received, service.runtime))
    expect([response.status, JSON.parse(response.body ?? '').error.code]).toEqual([404, 'NOT_FOUND.route'])
    expect(service.lines).toMatchObject([{ operation: 'platform.unknown-route' }])
  })

  test.each(['restore', 'archive'])('for the verb %s reaches its endpoint without it', async (verb) => {
    await change({}, { method: 'POST', path: `/things/${id}:${verb}` })
    expect([input.params, service.lines[0]?.operation]).toEqual([{ id }, `things.${verb}`])
  })

  test.each([
    ['', 'things.read'],
    ['?part=0', 'things.read'],
    ['?part=true', 'things.part'],
    ['?part=1', 'things.part'],
    ['?side=two', 'things.read'],
    ['?part=false&side=two', 'things.read'],
  ])('with the query %j is for %s', async (query, operation) => {
    await read({}, { path: `/things/${id}${query}` })
    expect(service.lines).toMatchObject([{ operation, status: 200 }])
  })

  test('passes on what its route names, and nothing else', async () => {
    await make({ headers: { 'X-Cart': 'c', 'X-Other': 'o', 'If-Match': etag, 'X-Reason': 'r' } })
    expect(input).toEqual({
      ...{ params: {}, headers: { 'X-Cart': 'c' }, query: {}, list: undefined },
      ...{ precondition: {}, reason: undefined, body: { name: 'a' } },
    })
    await read({}, { path: `/things/${id}?part=0` })
    expect(input).toMatchObject({ params: { id }, query: { part: false }, headers: {}, body: undefined })
    await change({ 'If-Match': ` ${etag} `, 'X-Reason': ' because ' })
    expect(input).toMatchObject({ precondition: { ifMatch: etag }, reason: 'because' })
  })

  test.each([
    ['?part=three', '400 VALIDATION.field.enum', { part: { reason: 'not_allowed' } }],
    ['?other=1', '400 VALIDATION.field.unknown', { other: { reason: 'unknown' } }],
    ['?part=true&part=true', '400 VALIDATION.field.format', { part: { reason: 'repeated' } }],
  ])('with the query %s is invalid', async (query, expected, fields) => {
    const got = await read({}, { path: `/things/${id}${query}` })
    expect([outcome(got), problemsOf(got)]).toMatchObject([expected, fields])
  })

  test('of a route without a query has no parameters', async () => {
    expect(outcome(await make({ path: '/things?other=1' }))).toBe('400 VALIDATION.field.unknown')
  })

  test('names one tenant at most, and its own unless it is an Admin', async () => {
    const admin = { tenant: 'acme', role: 'Admin' }
    const tenants = (query: string, as = admin) => make({ path: `/things${query}`, as }).then(outcome)
    expect(await tenants('?tenant=other')).toBe('201')
    expect(await service.items('other', 'order')).toHaveLength(1)
    expect(await tenants('?tenant=acme', editor)).toBe('201')
    expect(await tenants('?tenant=other', editor)).toBe('404 AUTHZ.scope.tenant')
    const twice = await make({ path: '/things?tenant=other&tenant=acme', as: admin })
    expect([outcome(twice), problemsOf(twice)]).toMatchObject([
      '400 VALIDATION.filter.value_invalid',
      { tenant: { reason: 'repeated' } },
    ])
    const malformed = await make({ path: '/things?tenant=a%23b', as: admin })
    expect(problemsOf(malformed)).toMatchObject({ tenant: { reason: 'format', regex: expect.any(String) } })
  })

  test('of a route without a caller names no tenant', async () => {
    expect(outcome(await service.call({ path: '/exports?tenant=acme' }))).toBe('400 VALIDATION.field.unknown')
  })

  test('of a route without a rule is denied', async () => {
    expect(outcome(await service.call({ path: '/unlisted', as: editor }))).toBe('403 AUTHZ.role.denied')
  })

  test('of a route without credentials is in the public tenant', async () => {
    expect((await send({ secret: 1 }, { 'Idempotency-Key': 'k' })).status).toBe(200)
    expect(scope).toEqual({ tenant: 'public', allTenants: false })
    expect((await service.call({ path: '/exports', headers: { Authorization: 'Bearer x' } })).status).toBe(
      200,
    )
  })

  test('with a wrong signature is refused', async () => {
    const body = '{"event_id":"e1"}'
    const receive = (headers = {}) => service.call({ method: 'POST', path: '/events', body, headers })
    expect((await receive()).headers['WWW-Authenticate']).toContain('Signature')
    expect((await receive(signed(body, { at: new Date(now) }))).status).toBe(200)
  })

  test('with a nonce in its token must send it', async () => {
    const as = { ...editor, claims: { nonce: 'n' } }
    expect((await read({ 'X-Token-Nonce': 'n' }, { as })).status).toBe(200)
    expect((await read({}, { as })).status).toBe(401)
  })

  test('for deleted items needs a role', async () => {
    const listed = (role: string, query = '?deleted=true') =>
      service.call({ path: `/tests/codes${query}`, as: { tenant: 'acme', role } }).then(outcome)
    expect(await Promise.all([listed('Admin'), listed('Service'), listed('Editor', '')])).toEqual([
      '200',
      '200',
      '200',
    ])
    expect(await listed('Editor')).toBe('403 AUTHZ.filter.denied')
  })

  const limits = {
    'things.create': [{ limit: 1, windowSeconds: 60, per: 'principal', counts: 'requests' } as const],
  }

  test('beyond the rate limit of its caller is refused, but a replay is not', async () => {
    const limited = await serve({ 'limits.other': limits })
    const keyed = { headers: { 'Idempotency-Key': 'k' } }
    expect((await make(keyed, limited)).headers['Idempotency-Status']).toBe('stored')
    expect((await make(keyed, limited)).headers['Idempotency-Status']).toBe('replayed')
    expect(outcome(await make({}, limited))).toBe('429 RATE_LIMIT.exceeded')
    expect(outcome(await make({ as: { ...editor, sub: 'u2' } }, limited))).toBe('409 CONFLICT.soft_deleted')
    expect((await make({ as: { ...editor, tenant: 'other' } }, limited)).status).toBe(201)
  })

  test('beyond the rate limit of an Admin is refused in every tenant', async () => {
    const limited = await serve({ 'limits.other': limits })
    const as = { tenant: 'acme', role: 'Admin' }
    expect((await make({ as, path: '/things?tenant=other' }, limited)).status).toBe(201)
    expect(outcome(await make({ as, path: '/things?tenant=third' }, limited))).toBe('429 RATE_LIMIT.exceeded')
    expect(outcome(await make({ as }, limited))).toBe('429 RATE_LIMIT.exceeded')
    expect((await make({ as: { ...editor, tenant: 'other' } }, limited)).status).toBe(409)
  })

  test('beyond the limit of failures is refused, and successes do not count', async () => {
    for (let n = 0; n < 4; n += 1) expect((await send({ secret: 1 })).status).toBe(200)
    for (let n = 0; n < 3; n += 1)
      expect((await send('refused', { 'Content-Type': 'text/csv' })).status).toBe(400)
    expect((await send({ secret: 1 })).status).toBe(429)
  })

  test.each([
    [{ 'X-Api-Key': 'wrong' }, 'ApiKey'],
    [{ Cookie: '__Host-session=wrong' }, 'Bearer'],
    [{ 'X-Api-Key': 'wrong', Authorization: 'wrong' }, 'Bearer'],
  ])('with %j is refused by %s', async (headers, scheme) => {
    const got = await service.call({ path: `/things/${id}`, headers })
    expect(got).toMatchObject({
      status: 401,
      headers: { 'WWW-Authenticate': expect.stringContaining(scheme) },
    })
  })

  test('whose time is up has no effect', async () => {
    duration = 7
    expect(outcome(await make({ headers: { 'X-Request-Timeout': '7' } }))).toBe('504 DEPENDENCY.timeout')
    expect(service.lines).toMatchObject([{ durationMilliseconds: 7 }])
    expect(await service.items('acme', 'order')).toEqual([])
  })
})

describe('a body', () => {
  test('has a limit of its route, or of the settings', async () => {
    const over = await make({ body: ' '.repeat(1025) })
    expect([outcome(over), problemsOf(over)]).toMatchObject([
      '413 VALIDATION.body.too_large',
      { body: { reason: 'too_large', max: 1024, actual: 1025 } },
    ])
    expect(outcome(await make({ body: ' '.repeat(1024) }))).toBe('400 VALIDATION.body.json')
    expect(problemsOf(await send('x'.repeat(65)))).toMatchObject({
      body: expect.objectContaining({ max: 64 }),
    })
    const hook = await service.call({ method: 'POST', path: '/events', body: ' '.repeat(32_769) })
    expect(problemsOf(hook).body.max).toBe(32 * 1024)
  })

  const tooLong = { reason: 'too_long', max: 7, actual: 8 }
  const [ofText, ofNumber] = ['string', 'number'].map((actual) => ({ reason: 'type', actual }))
  test.each<[unknown, string | undefined, string, object]>([
    [undefined, undefined, '400 VALIDATION.field.required', { name: { reason: 'required' } }],
    ['[]', undefined, '400 VALIDATION.field.type', { body: { reason: 'type', actual: 'array' } }],
    ['null', undefined, '400 VALIDATION.field.type', { body: { reason: 'type', actual: 'null' } }],
    ['1', undefined, '400 VALIDATION.field.type', { body: { reason: 'type', actual: 'number' } }],
    [{ name: 'a' }, 'application/json; charset=UTF-8', '201', {}],
    [{ name: 'a' }, 'application/json; charset=latin1', '415 VALIDATION.content_type.unsupported', {}],
    [{ name: 'a' }, 'application/json; charset=xutf-8', '415 VALIDATION.content_type.unsupported', {}],
    [{ name: 'a' }, 'application/json; charset=utf-8x', '415 VALIDATION.content_type.unsupported', {}],
    [{ name: 'a' }, 'text/csv', '415 VALIDATION.content_type.unsupported', {}],
    [{ name: 'a' }, '', '415 VALIDATION.content_type.unsupported', {}],
    [undefined, 'application/json', '400 VALIDATION.field.required', { name: { reason: 'required' } }],
    [undefined, 'text/plain', '400 VALIDATION.field.required', { name: { reason: 'required' } }],
    [undefined, 'text/csv; charset=latin1', '400 VALIDATION.field.required', {}],
    [new Uint8Array([0xff]), 'application/json', '400 VALIDATION.body.encoding', {}],
    [{ name: 7 }, undefined, '400 VALIDATION.field.type', { name: ofNumber }],
    [{ name: [] }, undefined, '400 VALIDATION.field.type', { name: { reason: 'type', actual: 'array' } }],
    [{ name: null }, undefined, '400 VALIDATION.field.type', { name: { reason: 'type', actual: 'null' } }],
    [{ name: 'ABCDEFGH' }, undefined, '400 VALIDATION.field.length', { name: tooLong }],
    [
      { name: 'abcdefgh', size: 'x' },
      undefined,
      '400 VALIDATION.body.invalid',
      { name: tooLong, size: ofText },
    ],
    [{ name: 1, size: 'x' }, undefined, '400 VALIDATION.field.type', { name: ofNumber, size: ofText }],
  ])('%j of type %j: %s', async (body, type, expected, fields) => {
    const got = await make({ body, ...(type !== undefined && { headers: { 'Content-Type': type } }) })
    expect([outcome(got), got.json.error?.details.fields ?? {}]).toMatchObject([expected, fields])
  })

  test('with invalid fields may list them', async () => {
    const listing = await serve({ 'errors.multiField': 'fields_and_errors' })
    const got = await make({ body: { name: 1, size: 'x' } }, listing)
    expect(got.json.error.details.errors).toMatchObject([
      { field: 'name', code: 'VALIDATION.field.type', reason: 'type', actual: 'number' },
      { field: 'size', code: 'VALIDATION.field.type', reason: 'type', actual: 'string' },
    ])
  })

  test('of an unknown type names those that are accepted', async () => {
    const got = await send('x', { 'Content-Type': 'text/plain' })
    expect(got).toMatchObject({ status: 415, headers: { 'Accept-Post': 'application/json, text/csv' } })
    expect(got.json.error.details).toEqual({
      supported: ['application/json', 'text/csv'],
      charset: 'utf-8',
    })
    expect((await send(undefined)).status).toBe(415)
  })

  test('of another type is text', async () => {
    expect((await send('a,b', { 'Content-Type': 'text/csv' })).status).toBe(200)
    expect(input.body).toBe('a,b')
  })

  test.each([
    ['', 201],
    ['identity', 201],
    [' Identity , identity', 201],
    ['gzip', 415],
    ['identity, gzip', 415],
  ])('with Content-Encoding %j is %d', async (coding, status) => {
    const got = await make({ headers: { 'Content-Encoding': coding } })
    expect(got.status).toBe(status)
    if (status === 201) return
    expect(got.headers['Accept-Encoding']).toBe('identity')
    expect(problemsOf(got)).toMatchObject({
      'Content-Encoding': { reason: 'not_allowed', allowed: ['identity'] },
    })
  })
})

describe('an Idempotency-Key', () => {
  const key = (value: string) => ({ headers: { 'Idempotency-Key': value } })

  test.each([
    ['', 'required', { reason: 'required' }],
    ['k'.repeat(256), 'length', { reason: 'too_long', max: 255, actual: 256 }],
    ['a b', 'charset', { reason: 'charset', regex: '^[\\x21-\\x7e]+$' }],
    ['ä', 'charset', { reason: 'charset', regex: '^[\\x21-\\x7e]+$' }],
  ])('of %j is invalid', async (value, rule, problem) => {
    const got = await make(key(value))
    expect(got.json.error.code).toBe(`VALIDATION.idempotency_key.${rule}`)
    expect(problemsOf(got)).toMatchObject({ 'Idempotency-Key': problem })
  })

  test('may have 255 characters', async () => {
    expect((await make(key('k'.repeat(255)))).status).toBe(201)
  })

  test('is required where the route or the settings say so', async () => {
    const required = '400 VALIDATION.idempotency_key.required'
    expect(outcome(await changeWithout('Idempotency-Key'))).toBe(required)
    const strict = await serve({ 'idempotency.requiredOn': ['things.create'] as never })
    expect(outcome(await make({}, strict))).toBe(required)
  })

  test('is ignored where the route has none', async () => {
    const got = await read({ 'Idempotency-Key': 'a b' })
    expect(got.status).toBe(200)
    expect(got.headers).not.toHaveProperty('Idempotency-Status')
  })

  const statusOf = ({ headers, json }: Answer) => headers['Idempotency-Status'] ?? json.error.code
  const mismatch = 'CONFLICT.idempotency.payload_mismatch'

  test('belongs to its payload', async () => {
    await make(key('k'))
    expect(statusOf(await make({ ...key('k'), body: { name: 'b' } }))).toBe(mismatch)
    expect(statusOf(await make({ headers: { 'Idempotency-Key': 'k', 'X-Cart': 'c' } }))).toBe(mismatch)
    await change({ 'Idempotency-Key': 'c' })
    expect(statusOf(await change({ 'Idempotency-Key': 'c' }))).toBe('replayed')
    expect(statusOf(await change({ 'Idempotency-Key': 'c', 'If-Match': '*' }))).toBe(mismatch)
    expect(statusOf(await change({ 'Idempotency-Key': 'c', 'If-None-Match': '"v0"' }))).toBe(mismatch)
    expect(statusOf(await change({ 'Idempotency-Key': 'c', 'X-Reason': 'other' }))).toBe(mismatch)
    const other = { path: `/things/${idAt(start + 1)}` }
    expect(statusOf(await change({ 'Idempotency-Key': 'c' }, other))).toBe(mismatch)
  })

  const path = '/things?other=1'
  test.each<[string, Partial<Call>, string]>([
    ['an unknown parameter', { path }, mismatch],
    ['a malformed tenant', { path: '/things?tenant=no%20name' }, mismatch],
    ['another media type', { headers: { 'Content-Type': 'image/png' } }, mismatch],
    ['a truncated body', { body: '{' }, mismatch],
    ['a body of another type', { body: '[]' }, mismatch],
    ['an unknown field', { body: { surprise: 1 } }, mismatch],
    ['an unsupported Accept', { headers: { Accept: 'image/png' } }, 'VALIDATION.accept.unsupported'],
    ['a body that is too large', { body: ' '.repeat(1025) }, 'VALIDATION.body.too_large'],
    ['another caller', { path, as: { ...editor, sub: 'u2' } }, 'VALIDATION.field.unknown'],
    ['no credentials', { path, as: undefined as never }, 'AUTH.invalid_credentials'],
    ['no permission', { path, as: { ...editor, role: 'Viewer' } }, 'AUTHZ.role.denied'],
  ])('that was used, in an invalid request with %s: %s', async (_, invalid, expected) => {
    const as = { ...editor, role: 'Admin' }
    await make({ as, ...key('k') })
    const headers = { ...key('k').headers, ...invalid.headers }
    const answer = await make({ as, ...invalid, headers })
    expect(statusOf(answer)).toBe(expected)
    const firstUse = { first_used_at: new Date(now).toISOString() }
    if (expected === mismatch) expect(answer.json.error.details).toEqual(firstUse)
  })

  test('that is new or has expired changes nothing for an invalid request', async () => {
    const invalid = { ...key('k'), path }
    for (let n = 0; n < 2; n += 1) expect(statusOf(await make(invalid))).toBe('VALIDATION.field.unknown')
    await make(key('k'))
    now += 24 * 3_600_000
    expect(statusOf(await make(invalid))).toBe('VALIDATION.field.unknown')
  })

  test('of nobody is no mismatch with an invalid request, as its caller is part of the payload', async () => {
    const sent = (body: object) => send(body, { 'Idempotency-Key': 'k' }).then(statusOf)
    expect(await sent({ secret: 1 })).toBe('stored')
    expect(await sent({ surprise: 1 })).toBe('VALIDATION.body.invalid')
  })

  test('counts towards the limits of its route if an invalid request is a mismatch', async () => {
    const limit = { limit: 2, windowSeconds: 60, per: 'principal', counts: 'failures' } as const
    const limited = await serve({ 'limits.other': { 'things.create': [limit] } as never })
    await make(key('k'), limited)
    const codes = []
    for (let n = 0; n < 3; n += 1) codes.push(statusOf(await make({ ...key('k'), path }, limited)))
    expect(codes).toEqual([mismatch, mismatch, 'RATE_LIMIT.exceeded'])
  })

  test('with quotes is another key than without', async () => {
    await change({ 'Idempotency-Key': 'k' })
    expect(statusOf(await change({ 'Idempotency-Key': '"k"' }))).toBe('stored')
  })

  test('belongs to its caller and its route', async () => {
    await change({ 'Idempotency-Key': 'k' })
    for (const as of [
      { tenant: 'acme', role: 'Editor', sub: 'u2' },
      { tenant: 'other', role: 'Editor', sub: 'u1' },
    ]) {
      expect(statusOf(await change({ 'Idempotency-Key': 'k' }, { as }))).toBe('stored')
    }
    const admin = { tenant: 'acme', role: 'Admin', sub: 'u3' }
    const elsewhere = { as: admin, path: `/things/${id}?tenant=other` }
    expect(statusOf(await change({ 'Idempotency-Key': 'k' }, elsewhere))).toBe('stored')
    expect(statusOf(await change({ 'Idempotency-Key': 'k' }, { as: admin }))).toBe(mismatch)
    const restored = { method: 'POST', path: `/things/${id}:restore` }
    expect(statusOf(await change({ 'Idempotency-Key': 'k' }, restored))).toBe('stored')
  })

  test('of nobody belongs to the address or the e-mail, as the settings say', async () => {
    const by = (email: string) => send({ email, secret: 1 }, { 'Idempotency-Key': 'k' }).then(statusOf)
    expect([await by('a@b.c'), await by('a@b.c'), await by('d@e.f')]).toEqual([
      'stored',
      'replayed',
      'stored',
    ])
    const bySource = await serve({ 'idempotency.anonymousScope': ['source'] })
    const from = (address: string) =>
      bySource
        .call({
          ...{ method: 'POST', path: '/imports', from: address, body: { secret: 1 } },
          headers: { 'Idempotency-Key': 's' },
        })
        .then(statusOf)
    expect([await from('192.0.2.1'), await from('192.0.2.2'), await from('192.0.2.1')]).toEqual([
      'stored',
      'stored',
      'replayed',
    ])
  })

  test('is forgotten after the lifetime of the settings', async () => {
    // A record expires at a whole second, and never early.
    now = Date.parse('2026-03-01T12:00:00.999Z')
    await change({ 'Idempotency-Key': 'k' })
    now += 24 * 3_600_000
    expect(statusOf(await change({ 'Idempotency-Key': 'k' }))).toBe('replayed')
    now += 1
    expect(statusOf(await change({ 'Idempotency-Key': 'k' }))).toBe('stored')
  })
})

describe('a saga', () => {
  const pay = (by = service, changes: Partial<Call> = {}) =>
    by.call({
      ...{ method: 'POST', path: '/tests/pay', as: editor, body: { amount: 5 } },
      headers: { 'Idempotency-Key': 'k' },
      ...changes,
    })
  beforeEach(() => {
    Object.assign(provider, { conducts: [], calls: [], payouts: new Map(), afterPay: () => {} })
  })

  test('goes on from its recorded state', async () => {
    provider.conducts = ['down']
    expect((await pay()).status).toBe(503)
    expect((await pay()).status).toBe(201)
    expect(new Set(provider.calls).size).toBe(1)
    expect((await pay()).headers['Idempotency-Status']).toBe('replayed')
    expect(provider.calls).toHaveLength(2)
  })

  test('counts each attempt until it has an outcome, and no replay', async () => {
    const limit = { limit: 2, windowSeconds: 60, per: 'tenant', counts: 'requests' } as const
    const limited = await serve({ 'limits.other': { 'tests.pay': [limit] } as never })
    provider.conducts = ['down', 'down']
    const attempts = [await pay(limited), await pay(limited), await pay(limited)]
    expect(attempts.map(({ status }) => status)).toEqual([503, 503, 429])
    now += 60_000
    const later = [await pay(limited), await pay(limited), await pay(limited)]
    expect(later.map(({ status }) => status)).toEqual([201, 201, 201])
  })

  test('that can never succeed is stored as a fault', async () => {
    provider.conducts = ['break']
    expect(outcome(await pay(service, { failsInternally: true }))).toBe('500 INTERNAL.unexpected')
    expect(service.lines).toMatchObject([{ failure: { cause: { message: 'a mistake in the code' } } }])
    expect((await pay()).headers['Idempotency-Status']).toBe('replayed')
  })

  test('records its outcome even if the time is up', async () => {
    provider.afterPay = () => {
      now += 20_000
    }
    expect((await pay()).status).toBe(201)
  })
})

describe('a header', () => {
  test.each(['0', '-1', '1.5', 'x1', '1x', '1234567890', ''])(
    'X-Request-Timeout: %j is invalid',
    async (value) => {
      const got = await read({ 'X-Request-Timeout': value })
      expect([outcome(got), problemsOf(got)]).toMatchObject([
        '400 VALIDATION.header.invalid',
        { 'X-Request-Timeout': { reason: 'format', regex: '^[1-9][0-9]{0,8}$' } },
      ])
    },
  )

  test.each([
    ['milliseconds', '2000', 2000],
    ['milliseconds', '1', 500],
    ['milliseconds', '499', 500],
    ['seconds', '2', 2000],
    ['seconds', '999999999', 10_000],
    ['seconds', 'x', 10_000],
  ] as const)('X-Request-Timeout in %s of %s leaves %d ms', (unit, value, expected) => {
    const limits = { minMilliseconds: 500, maxMilliseconds: 10_000 }
    const settings = { ...localSettings, 'requests.timeoutHeader': { unit, ...limits } }
    const received = {
      ...{ method: 'GET', path: '/exports', params: {}, query: [], body: undefined, sourceAddress: '' },
      headers: { 'x-request-timeout': value },
    }
    const { context } = openRequest(endpoints, received, { ...service.runtime, settings })
    expect(context.budget.remaining()).toBe(expected)
  })

  test('If-Match is required where the route says so', async () => {
    expect((await changeWithout('If-Match')).json.error.code).toBe('VALIDATION.if_match.required')
    for (const given of ['', ' ']) {
      const got = await change({ 'If-Match': given })
      expect(got.json.error.code).toBe('VALIDATION.if_match.required')
      expect(problemsOf(got)).toMatchObject({ 'If-Match': { reason: 'required' } })
    }
    await change({ 'If-Match': '' }, { method: 'POST', path: `/things/${id}:archive` })
    expect(input.precondition.ifMatch).toBe('')
  })

  test.each([
    ['', 'VALIDATION.reason.required', { reason: 'required', min: 1, max: 9 }],
    [' ', 'VALIDATION.reason.required', { reason: 'required', min: 1, max: 9 }],
    ['ten digits', 'VALIDATION.header.invalid', { reason: 'too_long', max: 9, actual: 10 }],
    ['a\u0007b', 'VALIDATION.header.invalid', { reason: 'charset' }],
  ])('the reason %j is invalid', async (given, code, problem) => {
    const got = await change({ 'X-Reason': given })
    expect([got.json.error.code, problemsOf(got)]).toMatchObject([code, { 'X-Reason': problem }])
  })

  test('a reason is required, and may have nine characters', async () => {
    expect((await changeWithout('X-Reason')).json.error.code).toBe('VALIDATION.reason.required')
    expect((await change({ 'X-Reason': 'nine char' })).status).toBe(200)
  })

  test('Accept must include the media type of the response, or JSON', async () => {
    const csv = (accept: string) => service.call({ path: '/exports', headers: { Accept: accept } })
    const got = await csv('application/xml')
    expect(got).toMatchObject({ status: 406, json: { error: { details: { supported: ['text/csv'] } } } })
    expect((await csv('text/csv')).status).toBe(200)
    expect((await csv('application/json')).status).toBe(200)
    expect((await read({ Accept: 'text/csv' })).status).toBe(406)
  })
})

describe('a browser', () => {
  const origin = 'http://localhost:5173'
  const allowed = (headers: Record<string, string>) => [
    headers['Access-Control-Allow-Origin'],
    headers['Access-Control-Allow-Credentials'],
  ]

  test('of an allowed origin may read responses, with credentials where cookies are used', async () => {
    expect(allowed((await read({ Origin: origin })).headers)).toEqual([origin, undefined])
    expect(allowed((await send({ secret: 1 }, { Origin: origin })).headers)).toEqual([origin, 'true'])
    expect(allowed((await send({ secret: 1 }, { Origin: `${origin}1` })).headers)).toEqual([
      undefined,
      undefined,
    ])
    const sessions = await serve({ 'auth.sessionOperations': ['things.read', 'things.export'] as never })
    const got = await sessions.call({ path: `/things/${id}`, as: editor, headers: { Origin: origin } })
    expect(allowed(got.headers)).toEqual([origin, 'true'])
    const open = await sessions.call({ path: '/exports', headers: { Origin: origin } })
    expect(allowed(open.headers)).toEqual([origin, undefined])
  })

  test('may read the headers of a response that the service sends', async () => {
    const { headers } = await read({ Origin: origin })
    expect(headers['Access-Control-Expose-Headers']?.split(', ')).toEqual([
      ...['X-Correlation-Id', 'ETag', 'Idempotency-Status', 'Location', 'Retry-After', 'WWW-Authenticate'],
      ...['x-amzn-Remapped-WWW-Authenticate', 'Content-Disposition', 'Deprecation', 'Sunset'],
      ...['traceparent', 'tracestate', 'baggage'],
    ])
  })

  test('learns before a request which methods and headers it may send', () => {
    const headers = preflightHeaders(origin, ['GET', 'POST'], localSettings, true)
    expect(headers).toMatchObject({
      'Access-Control-Allow-Methods': 'GET, POST',
      'Access-Control-Allow-Credentials': 'true',
      'Access-Control-Max-Age': '600',
    })
    expect(headers['Access-Control-Allow-Headers']?.split(', ')).toEqual(
      expect.arrayContaining(['Authorization', 'Idempotency-Key', 'X-CSRF-Token', 'X-Api-Key']),
    )
    expect(preflightHeaders('http://other', ['GET'], localSettings, true)).toEqual({ Vary: 'Origin' })
  })

  test('with a session cookie is a caller where the settings say so', async () => {
    const sessions = await serve({ 'auth.sessionOperations': ['things.read', 'things.create'] as never })
    const key = createSecretKey(new Uint8Array(32))
    const session = { session_id: id, login: [], tenant_id: 'public', user_id: 'u9', until: now + 1000 }
    await sessions.table.put(startSession(sessionOf(key, session)) as never)
    const headers = { Cookie: `${sessionCookie}=${id}.${sessionSecret(key, session)}` }
    const reading = { path: `/things/${id}`, headers }
    expect((await sessions.call(reading)).status).toBe(200)
    expect((await service.call(reading)).status).toBe(401)
    const dropped = { path: `/things/${id}` }
    const missing = async ({ call }: typeof service) =>
      (await call(dropped)).json.error.details.missing_cookie
    expect([await missing(sessions), await missing(service)]).toEqual([sessionCookie, undefined])
    const forged = { method: 'POST', path: '/things', headers, body: { name: 'a' } }
    expect(outcome(await sessions.call(forged))).toBe('403 AUTHZ.csrf.token')
  })
})

describe('a deprecated operation', () => {
  const dates = { deprecatedAt: '2026-02-01', sunsetAt: '2026-03-02' }
  const sunset = {
    ...localSettings['versioning.sunset'],
    ...{ windowDays: 30, status: 404, code: 'GONE.version', deprecated: { 'things.read': dates } },
  } as Settings['versioning.sunset']
  const ask = async () =>
    (await serve({ 'versioning.sunset': sunset })).call({ path: `/things/${id}`, as: editor })

  test('says so until its sunset, and is then gone', async () => {
    const headers = { Deprecation: '@1769904000', Sunset: 'Mon, 02 Mar 2026 00:00:00 GMT' }
    now = Date.parse('2026-03-01T23:59:59.999Z')
    expect(await ask()).toMatchObject({ status: 200, headers })
    now += 1
    expect(outcome(await ask())).toBe('404 GONE.version')
    expect((await read()).headers).not.toHaveProperty('Deprecation')
  })

  test('is announced as early as the settings promise', () => {
    const settings = { ...localSettings, 'versioning.sunset': sunset }
    expect(prematureSunsets(settings)).toEqual([
      'things.read ends 29 days after its deprecation, but callers are promised 30',
    ])
    const longer = { ...sunset, windowDays: 29 }
    expect(prematureSunsets({ ...settings, 'versioning.sunset': longer })).toEqual([])
  })
})
