import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals'
import { resolved } from '#bin/describe/openapi/components.ts'
import { openapiDocument } from '#bin/describe/openapi.ts'
import { localSettings } from '#test/support/settings.ts'
import { breakingChanges } from '#test/tooling/compatibility.ts'

// biome-ignore lint/suspicious/noExplicitAny: documents have any shape
type Any = any

const document: Any = JSON.parse(JSON.stringify(openapiDocument(localSettings)))
const { '/v1/orders': orders, '/codes': codes } = document.paths
const paths = { '/v1/orders': { post: orders.post }, '/codes': { post: codes.post } }
/** Two operations without references, so each test changes one place only. */
const released = resolved(
  {
    ...document,
    paths,
    components: {
      securitySchemes: document.components.securitySchemes,
      schemas: { Order: document.components.schemas.Order },
    },
  },
  document,
)

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'compatibility-'))
})
afterAll(() => rm(folder, { recursive: true }))

/** Returns the breaking changes that a change of the description causes. */
async function after(change: (document: Any) => void): Promise<string[]> {
  const changed = structuredClone(released)
  change(changed)
  const files = [join(folder, 'before.json'), join(folder, 'after.json')] as const
  await writeFile(files[0], JSON.stringify(released))
  await writeFile(files[1], JSON.stringify(changed))
  return breakingChanges(...files)
}

const order = ({ paths }: Any) => paths['/v1/orders'].post
const json = ({ content }: Any) => content['application/json'].schema
const sent = (document: Any) => json(order(document).requestBody)
const sentCode = (document: Any) => json(document.paths['/codes'].post.requestBody)
const received = (document: Any) => json(order(document).responses[201])

function requireField(schema: Any, name: string): void {
  schema.properties[name] = { type: 'string' }
  schema.required.push(name)
}

// The first call compiles oasdiff.
jest.setTimeout(900_000)

describe('a breaking change is rejected', () => {
  test.each<[string, (document: Any) => void]>([
    ['a removed operation', ({ paths }) => delete paths['/codes']],
    ['a removed field of a response', (document) => delete received(document).properties.currency],
    ['an optional field of a response', (document) => received(document).required.pop()],
    [
      'another type in a response',
      (document) => Object.assign(received(document).properties.status, { type: 'integer' }),
    ],
    ['a removed header of a response', (document) => delete order(document).responses[201].headers.ETag],
    [
      'null in a response',
      (document) => Object.assign(received(document).properties.id, { type: ['string', 'null'] }),
    ],
    ['a required field of a request', (document) => requireField(sent(document), 'extra')],
    ['a removed field of a request', (document) => delete sent(document).properties.cart_id],
    ['a removed value of a request', (document) => sentCode(document).properties.type.enum.pop()],
    [
      'a tighter limit of a request',
      (document) => Object.assign(sent(document).properties.amount_minor, { maximum: 5 }),
    ],
    ['another operation id', (document) => Object.assign(order(document), { operationId: 'placeOrder' })],
    ['a removed tag', (document) => order(document).tags.pop()],
    ['a removed schema', ({ components }) => delete components.schemas.Order],
    ['a scope', (document) => Object.assign(order(document), { security: [{ bearer: ['orders:write'] }] })],
  ])('%s', async (_, change) => {
    expect(await after(change)).not.toEqual([])
  })
})

describe('a compatible change is accepted', () => {
  test.each<[string, (document: Any) => void]>([
    ['none', () => {}],
    [
      'a field of a response',
      (document) => Object.assign(received(document).properties, { extra: { type: 'string' } }),
    ],
    ['a state', (document) => received(document).properties.status['x-extensible-enum'].push('refunded')],
    [
      'an error code',
      (document) =>
        json(order(document).responses[400]).properties.error.properties.code['x-extensible-enum'].push(
          'NEW.code',
        ),
    ],
    [
      'an optional field of a request',
      (document) => Object.assign(sent(document).properties, { extra: { type: 'string' } }),
    ],
    ['a value of a request', (document) => sentCode(document).properties.type.enum.push('percent-5')],
    [
      'an error status',
      (document) => Object.assign(order(document).responses, { 410: { description: 'Gone' } }),
    ],
  ])('%s', async (_, change) => {
    expect(await after(change)).toEqual([])
  })
})
