import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { loadSettings, localProfile } from '#bin/build/settings-file.ts'
import { resolved } from '#bin/describe/openapi/components.ts'
import { openapiDocument } from '#bin/describe/openapi.ts'
import { routes } from '#functions/routes.ts'
import { pathOf } from '#shared/platform/request/route.ts'
import { register } from '#shared/settings/register.ts'
import { localSettings, otherSettings } from '#test/support/settings.ts'

// biome-ignore lint/suspicious/noExplicitAny: a document of every shape
type Any = any
const kept: Any = JSON.parse(readFileSync(join(import.meta.dirname, '../../openapi.json'), 'utf8'))
/** Without references. */
const inline = resolved(kept, kept)

/** Every object of a document, with the path to it. */
function* objects(node: unknown, path: string[] = []): Generator<[string[], Record<string, unknown>]> {
  if (typeof node !== 'object' || node === null) return
  if (!Array.isArray(node)) yield [path, node as Record<string, unknown>]
  for (const [key, value] of Object.entries(node)) yield* objects(value, [...path, key])
}

/** Returns an operation with its schemas. Parameters and responses that operations share stay references. */
function withSchemas(node: Any, document: Any): Any {
  if (typeof node !== 'object' || node === null) return node
  if (String(node.$ref).startsWith('#/components/schemas/')) return resolved(node, document)
  if (Array.isArray(node)) return node.map((one) => withSchemas(one, document))
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, withSchemas(value, document)]))
}

describe('openapi.json', () => {
  test('is generated from the route table', async () => {
    expect(kept).toEqual(
      JSON.parse(JSON.stringify(openapiDocument(await loadSettings(localProfile, 'local')))),
    )
  })

  test.each(routes.map(({ route }) => [route.operation, route] as const))('describes %s', (_, route) => {
    const settings = localSettings
    const described = inline.paths[pathOf(route, settings)][route.method.toLowerCase()]
    const credentials = {
      none: [],
      signature: [{ [route.signer === 'stripe' ? 'stripeSignature' : 'signature']: [] }],
      bearer: [
        { bearer: route.scope ? [route.scope] : [] },
        { apiKey: route.scope ? [route.scope] : [] },
        ...(route.operation === 'discount.verify' ? [{ session: [], csrf: [] }] : []),
      ],
    }
    expect(described.security).toEqual(credentials[route.auth])
    expect(Object.keys(described.responses)).toEqual(
      expect.arrayContaining([
        ...(route.ignoresCallerOptions ? [] : ['400', '406']),
        '413',
        '500',
        '503',
        '504',
      ]),
    )
    const names = described.parameters.map((one: Any) => one.name)
    expect(names.includes('Idempotency-Key')).toBe(route.idempotency !== 'none')
  })

  test('has no default for a boolean parameter, which generated clients would spell as their language does', () => {
    const booleans = Object.values<Any>(inline.paths)
      .flatMap((methods) => Object.values<Any>(methods))
      .flatMap(({ parameters = [] }) => parameters)
      .filter(({ schema }) => schema?.type === 'boolean')
    expect(booleans.map(({ name }) => name)).toEqual(expect.arrayContaining(['include_deleted', 'deleted']))
    for (const { schema } of booleans) expect(schema).not.toHaveProperty('default')
  })

  test('uses one name for an operation, its tag and its function', () => {
    const ids = Object.values<Any>(kept.paths).flatMap((methods) =>
      Object.values<Any>(methods).map(({ operationId }) => operationId),
    )
    expect(ids).toEqual(expect.arrayContaining(['createOrder', 'listOrders', 'deleteCode', 'requestOtp']))
    for (const id of ids) expect(id).toMatch(/^[a-z][A-Za-z]*$/)
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('has a name for every object with properties', () => {
    const named = Object.keys(kept.components.schemas).map((name) => `components.schemas.${name}`)
    const objectsWithFields = Array.from(objects(kept), ([path, node]) => ({ path: path.join('.'), node }))
      .filter(({ path, node }) => node.properties && !path.endsWith('.example'))
      .map(({ path }) => path)
    expect(named).toEqual(expect.arrayContaining(objectsWithFields))
    expect(named).toEqual(
      expect.arrayContaining(
        ['Order', 'OrderList', 'DiscountCode', 'Refund', 'Operation', 'BulkResult', 'Error'].map(
          (name) => `components.schemas.${name}`,
        ),
      ),
    )
  })

  test('describes the headers that only some responses have', () => {
    const answers = (path: string, method: string) => inline.paths[path][method].responses
    const headers = (path: string, method: string, status: number) =>
      Object.keys(answers(path, method)[status].headers)
    expect(headers('/codes/{id}', 'patch', 415)).toEqual(['X-Correlation-Id', 'Accept-Post', 'Accept-Patch'])
    for (const status of [404, 409, 500])
      expect(headers('/v1/refunds', 'post', status)).toContain('Idempotency-Status')
    expect(headers('/v1/refunds', 'post', 415)).not.toContain('Idempotency-Status')
    expect(headers('/codes:export', 'get', 200)).toEqual(['X-Correlation-Id', 'Content-Disposition'])
    expect(headers('/codes:export', 'get', 303)).toContain('Location')
  })

  test('describes no response that an operation never returns', () => {
    const { responses } = inline.paths['/health'].get
    expect([responses[400], responses[406]]).toEqual([undefined, undefined])
    expect(inline.paths['/codes/{id}'].delete.responses[409].description).not.toContain('CONFLICT.code')
  })

  test('has a valid example for every response with a body', () => {
    const ajv = new Ajv2020({ strict: false })
    addFormats.default(ajv)
    for (const [path, methods] of Object.entries<Any>(inline.paths))
      for (const [method, { responses }] of Object.entries<Any>(methods))
        for (const [status, { content = {} }] of Object.entries<Any>(responses))
          for (const { schema, example } of Object.values<Any>(content)) {
            const valid = ajv.compile(schema)
            expect([method, path, status, valid(example), valid.errors]).toEqual([
              method,
              path,
              status,
              true,
              null,
            ])
          }
  })

  test('has a valid example for every parameter', () => {
    const ajv = new Ajv2020({ strict: false })
    addFormats.default(ajv)
    for (const methods of Object.values<Any>(inline.paths))
      for (const { operationId, parameters = [] } of Object.values<Any>(methods))
        for (const { name, schema, example } of parameters)
          expect([operationId, name, example, ajv.validate(schema, example)]).toEqual([
            operationId,
            name,
            expect.anything(),
            true,
          ])
  })

  test('has a server whose address a collection keeps as a variable', () => {
    const [{ url, variables }] = kept.servers
    expect(url).toBe('{base_url}')
    expect(new URL(variables.base_url.default).protocol).toBe('https:')
  })

  test('has examples of types of codes that the deployment has', () => {
    for (const settings of [localSettings, otherSettings]) {
      const { paths }: Any = JSON.parse(JSON.stringify(openapiDocument(settings)))
      const codes = Array.from(objects(paths), ([, node]) => node).filter((node) => 'soft_deleted' in node)
      expect(codes.length).toBeGreaterThan(5)
      for (const { type } of codes) expect(Object.keys(settings['codes.types'])).toContain(type)
    }
  })

  test('has a result for each row that an example counts', () => {
    const batches = Array.from(objects(inline.paths), ([, node]) => node).filter(
      ({ items, counts }) => Array.isArray(items) && counts,
    )
    expect(batches).toHaveLength(2)
    for (const { items, counts } of batches as Any[]) {
      const succeeded = items.filter(({ status }: Any) => status < 400).length
      const { length: total } = items
      expect(counts).toEqual({ total, succeeded, failed: total - succeeded })
    }
  })

  test('offers If-Match where a tag can match: not on lists, whose tags are weak', () => {
    for (const { route } of routes) {
      const { parameters } = inline.paths[pathOf(route, localSettings)][route.method.toLowerCase()]
      const isOffered = parameters.some(({ name }: Any) => name === 'If-Match')
      if (route.listing) expect([route.operation, isOffered]).toEqual([route.operation, false])
    }
  })

  test('says who may delete a code permanently', () => {
    const { description, parameters } = inline.paths['/codes/{id}'].delete
    for (const fact of ['Admin', 'X-Audit-Log-Reason', 'API keys']) expect(description).toContain(fact)
    expect(parameters.map(({ name }: Any) => name)).toContain('X-Audit-Log-Reason')
  })

  test('says how a webhook is signed, and what its fields mean', () => {
    const { description } = kept.components.securitySchemes.signature
    const windowSeconds = localSettings['webhooks.windowSeconds']
    for (const fact of ['`v1,`', 'HMAC-SHA256', 'id.timestamp.body', 'whsec_', `${windowSeconds} seconds`])
      expect(description).toContain(fact)
    const { WebhookEvent, WebhookEventData } = kept.components.schemas
    expect(WebhookEvent.properties.occurred_at.description).toContain('UTC')
    expect(WebhookEventData.description).toContain(localSettings['auth.publicTenant'])
  })

  test('has no dangling references', () => {
    for (const [, { $ref: reference }] of objects(kept)) {
      if (typeof reference !== 'string') continue
      const found = reference
        .slice(2)
        .split('/')
        .reduce((node: Any, key) => node?.[key], kept)
      expect([reference, found === undefined]).toEqual([reference, false])
    }
  })

  test('marks the parts that a profile changes with their setting', () => {
    const marks = [...objects(kept)].flatMap(([path, { 'x-open-point': key }]) =>
      key === undefined ? [] : [[path.join('.'), String(key)]],
    )
    for (const [, key = ''] of marks) expect(Object.keys(register)).toContain(key)
    const body = 'components.schemas.OrderRequest.properties'
    expect(marks).toEqual(
      expect.arrayContaining([
        [`${body}.currency`, 'orders.currencies'],
        ['paths./v1/orders.post.responses.201', 'orders.createStatus'],
        ['components.parameters.Tenant', 'auth.adminTenantParameter'],
      ]),
    )
  })

  test('lists the settings of each operation: no other setting changes its description', () => {
    for (const [path, operations] of Object.entries<Any>(kept.paths)) {
      for (const [method, described] of Object.entries<Any>(operations)) {
        const points: string[] = described['x-open-points']
        const listed = Object.entries(localSettings).filter(([key]) => points.includes(key))
        const other: Any = openapiDocument({ ...otherSettings, ...Object.fromEntries(listed) })
        const otherwise = JSON.parse(JSON.stringify(other))
        expect(withSchemas(otherwise.paths[path][method], otherwise)).toEqual(withSchemas(described, kept))
        const marks = Array.from(objects(withSchemas(described, kept)), ([, node]) => node['x-open-point'])
        expect(points).toEqual(expect.arrayContaining(marks.filter((key) => key !== undefined)))
        for (const key of points) expect(Object.keys(register)).toContain(key)
      }
    }
    const createOrder = kept.paths['/v1/orders'].post['x-open-points']
    expect(createOrder).toEqual(expect.arrayContaining(['orders.createStatus', 'orders.currencies']))
    const signIn = kept.paths['/login'].post['x-open-points']
    expect(signIn).toEqual(expect.arrayContaining(['login.shape', 'login.countBy', 'login.captcha']))
  })

  test('differs for another profile only in the marked parts', () => {
    const other: Any = openapiDocument(otherSettings)
    const place = resolved(other.paths['/v1/orders'].post, other)
    expect(Object.keys(place.responses)).toContain('200')
    const { currency, cart_id } = place.requestBody.content['application/json'].schema.properties
    expect([currency['x-open-point'], cart_id.maxLength]).toEqual(['orders.currencies', 255])
    // There, API keys have the permissions of a Viewer, who places no orders.
    expect(place.security).toEqual([{ bearer: ['orders:write'] }])
    expect(place['x-api-key-scopes']).toBeNull()
    expect(other.paths['/v1/orders/{id}'].get['x-api-key-scopes']).toContain('sales')
    expect(other.paths['/v1/orders/{id}'].get.security).toContainEqual({ session: [], csrf: [] })
    expect(Object.keys(other.paths['/v1/orders/{id}'].get.responses)).toContain('419')
    expect(other.components.parameters.Tenant.name).toBe('shop')
    const names = other.paths['/v1/orders'].get.parameters.map((one: Any) => one.name)
    expect(names).toEqual(expect.arrayContaining(['limit', 'offset']))
  })
})
