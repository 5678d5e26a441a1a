import { readFileSync } from 'node:fs'
import { describe, expect, test } from '@jest/globals'
import { descriptionChanges, openapiFile, releasedFile } from '#bin/compatibility.ts'
import { resolved } from '#bin/openapi/components.ts'

// biome-ignore lint/suspicious/noExplicitAny: documents have any shape
type Any = any

const read = (file: string): Any => JSON.parse(readFileSync(file, 'utf8'))
const document = read(openapiFile)
const {
  '/v1/orders': orders,
  '/v1/refunds': refunds,
  '/codes/{id}': code,
  '/health': health,
} = document.paths
const paths = { '/v1/orders': orders, '/v1/refunds': refunds, '/codes/{id}': code, '/health': health }
/** Some paths of the document, without references, so each test changes one place only. */
const kept = resolved({ ...document, paths }, document)

/** Returns the breaking changes that a change of openapi.json causes. */
function after(change: (document: Any) => void): string[] {
  const changed = structuredClone(kept)
  change(changed)
  return descriptionChanges(kept, changed)
}

const place = (document: Any) => document.paths['/v1/orders'].post
const list = (document: Any) => document.paths['/v1/orders'].get
const body = (document: Any) => place(document).requestBody.content['application/json'].schema
const reply = (document: Any) => place(document).responses[201].content['application/json'].schema
const without = (names: string[], gone: string) => names.filter((name) => name !== gone)
const filter = (document: Any, name: string) =>
  list(document).parameters.find((one: Any) => one.name === name)

test('openapi.json is compatible with the last release', () => {
  expect(descriptionChanges(read(releasedFile), document)).toEqual([])
})

describe('a breaking change is reported for its callers', () => {
  test.each<[string, (document: Any) => void, string]>([
    ['a removed path', ({ paths }) => delete paths['/v1/refunds'], 'POST /v1/refunds: callers: it is gone'],
    [
      'a removed method',
      ({ paths }) => delete paths['/codes/{id}'].patch,
      'PATCH /codes/{id}: callers: it is gone',
    ],
    [
      'a removed response field',
      (document) => {
        delete reply(document).properties.currency
        reply(document).required = without(reply(document).required, 'currency')
      },
      'POST /v1/orders: readers of 201 currency: it is gone',
    ],
    [
      'a response field that becomes optional',
      (document) => {
        reply(document).required = without(reply(document).required, 'currency')
      },
      'POST /v1/orders: readers of 201 currency: it may be absent now',
    ],
    [
      'a response field with more values',
      (document) => reply(document).properties.status.enum.push('odd'),
      'POST /v1/orders: readers of 201 status: it may be "odd" now',
    ],
    [
      'a response field of another type',
      (document) => {
        reply(document).properties.amount_minor.type = 'string'
      },
      'POST /v1/orders: readers of 201 amount_minor: type was "integer", is "string"',
    ],
    [
      'a field of a page that may be null',
      (document) => {
        const { schema } = list(document).responses[200].content['application/json']
        const { id } = schema.properties.data.items.properties
        schema.properties.data.items.properties.id = { anyOf: [id, { type: 'null' }] }
      },
      'GET /v1/orders: readers of 200 data[].id: it may be something else now',
    ],
    [
      'a new required field of a request',
      (document) => {
        body(document).properties.extra = { type: 'string' }
        body(document).required.push('extra')
      },
      'POST /v1/orders: senders of body extra: it is required now',
    ],
    [
      'a rejected request field',
      (document) => {
        delete body(document).properties.cart_id
        body(document).required = without(body(document).required, 'cart_id')
      },
      'POST /v1/orders: senders of body cart_id: it is no longer accepted',
    ],
    [
      'a field of a request with fewer values',
      (document) => body(document).properties.currency.enum.pop(),
      'POST /v1/orders: senders of body currency: "ZWG" is no longer accepted',
    ],
    [
      'a field of a request of another type',
      (document) => {
        body(document).properties.amount_minor.type = 'string'
      },
      'POST /v1/orders: senders of body amount_minor: type was "integer", is "string"',
    ],
    [
      'a tighter limit',
      (document) => {
        body(document).properties.amount_minor.maximum = 5
      },
      'POST /v1/orders: senders of body amount_minor: maximum was 999999999999, is 5',
    ],
    [
      'a keyword that this check does not know',
      (document) => {
        body(document).properties.amount_minor.multipleOf = 5
      },
      'POST /v1/orders: senders of body amount_minor: multipleOf was not set, is 5',
    ],
    [
      'another status of success',
      (document) => {
        const { 201: success, ...others } = place(document).responses
        place(document).responses = { 200: success, ...others }
      },
      'POST /v1/orders: readers of 201: it is no longer returned',
    ],
    [
      'a removed response header',
      (document) => delete place(document).responses[201].headers['Idempotency-Status'],
      'POST /v1/orders: readers of 201 header Idempotency-Status: it is gone',
    ],
    [
      'a new required header',
      (document) =>
        place(document).parameters.push({ name: 'X-New', in: 'header', required: true, schema: {} }),
      'POST /v1/orders: callers without header x-new: it is required now',
    ],
    [
      'a header that is required from now on',
      (document) => {
        filter(document, 'If-None-Match').required = true
      },
      'GET /v1/orders: callers without header if-none-match: it is required now',
    ],
    [
      'a filter that is gone',
      (document) => {
        list(document).parameters = list(document).parameters.filter((one: Any) => one.name !== 'status')
      },
      'GET /v1/orders: senders of query status: it is no longer accepted',
    ],
    [
      'a filter that is written otherwise',
      (document) => {
        filter(document, 'status.in').explode = true
      },
      'GET /v1/orders: senders of query status.in: its format changed',
    ],
    [
      'a scope that is needed',
      (document) => {
        place(document).security = [{ bearer: ['orders:write'] }]
      },
      'POST /v1/orders: callers: other credentials are required',
    ],
    [
      'credentials that are needed',
      ({ paths }) => {
        paths['/health'].get.security = [{ bearer: [] }]
      },
      'GET /health: callers: other credentials are required',
    ],
    [
      'a body of another type',
      (document) => {
        const { content } = place(document).requestBody
        place(document).requestBody.content = { 'application/xml': content['application/json'] }
      },
      'POST /v1/orders: senders of body: application/json is gone',
    ],
  ])('%s', (_, change, line) => {
    expect(after(change)).toContain(line)
  })
})

test('a change of a component is reported for each operation that refers to it', () => {
  const changed = structuredClone(document)
  changed.components.schemas.Order.properties.status.enum.push('odd')
  expect(descriptionChanges(document, changed)).toEqual([
    'POST /v1/orders: readers of 201 status: it may be "odd" now',
    'GET /v1/orders: readers of 200 data[].status: it may be "odd" now',
    'GET /v1/orders/{id}: readers of 200 status: it may be "odd" now',
  ])
})

describe('a compatible change is permitted', () => {
  test.each<[string, (document: Any) => void]>([
    ['none', () => {}],
    ['a new path', ({ paths }) => Object.assign(paths, { '/v1/new': paths['/health'] })],
    ['a new optional field', (document) => Object.assign(body(document).properties, { extra: {} })],
    [
      'a new response field',
      (document) => {
        reply(document).properties.extra = { type: 'string' }
        reply(document).required.push('extra')
      },
    ],
    [
      'a new optional header',
      (document) => place(document).parameters.push({ name: 'X-New', in: 'header', schema: {} }),
    ],
    ['a currency more', (document) => body(document).properties.currency.enum.push('XXX')],
    ['a status less', (document) => reply(document).properties.status.enum.pop()],
    ['a looser limit', (document) => delete body(document).properties.amount_minor.maximum],
    [
      'a new code of errors',
      (document) =>
        place(document).responses[400].content[
          'application/json'
        ].schema.properties.error.properties.code.enum.push('NEW.code'),
    ],
    ['a new status', (document) => Object.assign(place(document).responses, { 410: {} })],
    ['another description', (document) => Object.assign(place(document), { description: 'New.' })],
    ['no credentials', (document) => Object.assign(place(document), { security: [] })],
  ])('%s', (_, change) => {
    expect(after(change)).toEqual([])
  })
})
