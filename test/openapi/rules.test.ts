import { beforeAll, describe, expect, test } from '@jest/globals'
import { resolved } from '#bin/describe/openapi/components.ts'
import { openapiDocument } from '#bin/describe/openapi.ts'
import { type Answer, type Service, startService } from '#test/support/service.ts'
import { localSettings, otherSettings } from '#test/support/settings.ts'

// biome-ignore lint/suspicious/noExplicitAny: a document of every shape
type Any = any

interface Place {
  path: string
  node: Any
}

/** Returns every object in a part of a document. Examples are no part of it. */
function placesIn(node: Any, path = ''): Place[] {
  if (typeof node !== 'object' || node === null) return []
  const inner = Object.entries(node).filter(([key]) => key !== 'example')
  return [{ path, node }, ...inner.flatMap(([key, value]) => placesIn(value, `${path}/${key}`))]
}

/** Returns the paths of the objects that break a rule. */
function breaking(places: Place[], breaks: (node: Any) => boolean): string[] {
  return places.filter(({ node }) => breaks(node)).map(({ path }) => path)
}

describe.each([
  ['local', localSettings],
  ['other', otherSettings],
])('the description under the profile %s', (_profile, settings) => {
  const document: Any = JSON.parse(JSON.stringify(openapiDocument(settings)))
  const operations = Object.entries<Any>(resolved(document.paths, document)).flatMap(([path, methods]) =>
    Object.entries<Any>(methods).map(([method, operation]) => {
      return { name: `${method.toUpperCase()} ${path}`, operation }
    }),
  )
  const everything = placesIn(document)
  const responses = operations.flatMap(({ name, operation }) => placesIn(operation.responses, name))
  const requests = operations.flatMap(({ name, operation }) => placesIn(operation.requestBody, name))
  const parameters = operations.flatMap(({ name, operation }) => placesIn(operation.parameters, name))

  // Generators for Java and Go reject unknown fields unless it is true.
  test('lets responses have more fields later', () => {
    const objects = responses.filter(({ node }) => node.type === 'object' && node.properties)
    expect(breaking(objects, ({ additionalProperties }) => additionalProperties !== true)).toEqual([])
  })

  // A client in Go has a function OrderRequest that makes an Order.
  test('has no schema whose name is New and another', () => {
    const names = Object.keys(document.components.schemas)
    expect(names.filter((name) => names.includes(`New${name}`))).toEqual([])
  })

  test('lets fields of responses have more values later', () => {
    expect(breaking(responses, (node) => 'enum' in node || 'const' in node)).toEqual([])
  })

  test('lists known values of responses as strings, also in the description', () => {
    const known = responses.filter(({ node }) => node['x-extensible-enum'])
    expect(known.length).toBeGreaterThan(5)
    for (const { path, node } of known) {
      expect([path, node.type]).toEqual([path, 'string'])
      expect([path, node.description]).toEqual([
        path,
        expect.stringContaining(`Known values: ${node['x-extensible-enum'].join(', ')}.`),
      ])
    }
  })

  test('rejects unknown fields of requests', () => {
    // The data of an event belongs to the service that sends it, and the form of an event of Stripe to Stripe.
    const isOfSender = (path: string) => path.endsWith('/data') || path.startsWith('POST /v1/webhooks/stripe')
    const objects = requests.filter(({ path, node }) => node.type === 'object' && !isOfSender(path))
    expect(breaking(objects, ({ additionalProperties }) => additionalProperties !== false)).toEqual([])
  })

  test('names the fields of every object in a request', () => {
    expect(breaking(requests, ({ type, properties }) => type === 'object' && !properties)).toEqual([])
  })

  test('has patterns in the common part of regular expressions', () => {
    // PHP knows no escape \\u, and needs a flag for \\p. Its generated clients check patterns.
    expect(breaking(everything, ({ pattern }) => /\\[upP]/.test(String(pattern)))).toEqual([])
  })

  test('has no pattern next to a format', () => {
    expect(breaking(everything, ({ format, pattern }) => format && pattern)).toEqual([])
  })

  test('has one form for a field in requests and in responses', () => {
    const fieldsOf = (places: Place[]) =>
      places.flatMap(({ node }) => (node.type === 'object' ? Object.entries<Any>(node.properties ?? {}) : []))
    const received = fieldsOf(responses)
    // The data of an event and that of a page are different fields.
    const sent = fieldsOf(requests).filter(([name]) => name !== 'data')
    for (const [name, { type }] of sent) {
      const types = received.flatMap(([one, { type }]) => (one === name ? [type] : []))
      if (types.length > 0) expect([name, types]).toEqual([name, expect.arrayContaining([type])])
    }
    const currencies = [...sent, ...received].filter(([name]) => name === 'currency')
    for (const [, { type, pattern, enum: members }] of currencies)
      expect([type, pattern, members]).toEqual(['string', '^[A-Z]{3}$', undefined])
  })

  test('describes every parameter and header', () => {
    const headers = Object.entries<Any>(document.components.headers).map(([path, node]) => ({ path, node }))
    const described = [...parameters.filter(({ node }) => node.in), ...headers]
    expect(breaking(described, ({ description }) => !description?.match(/\w/))).toEqual([])
    expect(breaking(described, ({ description }) => /undefined|null$/.test(description))).toEqual([])
  })

  test('separates the values of every list by commas', () => {
    const lists = parameters.filter(({ node }) => node.in && node.schema.type === 'array')
    expect(lists).not.toEqual([])
    expect(breaking(lists, ({ style, explode }) => style !== 'form' || explode !== false)).toEqual([])
  })

  test('has no alternatives in parameters', () => {
    expect(breaking(parameters, (node) => 'anyOf' in node || 'oneOf' in node)).toEqual([])
  })

  test('has an error that the operation returns as the example of each error', () => {
    for (const { name, operation } of operations)
      for (const [status, { description, content }] of Object.entries<Any>(operation.responses)) {
        const error = content?.['application/json']?.example?.error
        if (Number(status) < 400) continue
        expect([name, error.http, description.split(', ')]).toEqual([
          name,
          Number(status),
          expect.arrayContaining([error.code]),
        ])
      }
  })

  test('promises only resources that have a path', () => {
    const paths = Object.keys(document.paths).join(' ')
    for (const resource of ['orders', 'refunds', 'codes', 'imports', 'webhooks', 'carts', 'customers'])
      expect([resource, document.info.description.toLowerCase().includes(resource)]).toEqual([
        resource,
        paths.includes(resource),
      ])
  })
})

describe('bounds of parameters', () => {
  let service: Service
  beforeAll(async () => {
    service = await startService()
  })
  const as = { tenant: 'acme', role: 'Admin', scope: 'codes:read codes:write' }
  const document: Any = openapiDocument(localSettings)
  const { parameters } = resolved(document.paths['/codes'].get, document)
  const bounded: Any[] = parameters.filter(
    (one: Any) => one.schema.type === 'integer' && !one.name.includes('.'),
  )

  test('are those of page_size, limit, offset and X-Request-Timeout', () => {
    const names = bounded.map(({ name }) => name).toSorted()
    expect(names).toEqual(['X-Request-Timeout', 'limit', 'offset', 'page_size'])
  })

  test.each(bounded.map((one) => [one.name, one] as const))(
    '%s are accepted, and nothing beyond them but page sizes, which count as the largest one',
    async (_, one) => {
      const { minimum, maximum } = one.schema
      const statusOf = async (value: number) => {
        const text = String(value)
        const [query, headers] =
          one.in === 'query' ? [`?${one.name}=${text}`, {}] : ['', { [one.name]: text }]
        const { status } = await service.call({ method: 'GET', path: `/codes${query}`, as, headers })
        return status
      }
      expect(await statusOf(maximum)).toBe(200)
      expect(await statusOf(maximum + 1)).toBe(['page_size', 'limit'].includes(one.name) ? 200 : 400)
      expect(await statusOf(minimum - 1)).toBe(400)
      expect(await statusOf(minimum)).not.toBe(400)
    },
  )
})

describe('the first request of an imported collection', () => {
  const as = { tenant: 'acme', role: 'Admin', scope: 'codes:read codes:write' }
  let service: Service
  beforeAll(async () => {
    service = await startService()
  })
  const document: Any = openapiDocument(localSettings)
  const operations = Object.entries<Any>(resolved(document.paths, document)).flatMap(([path, methods]) =>
    Object.entries<Any>(methods).map(
      ([method, described]) => [described.operationId, { path, method, described }] as const,
    ),
  )

  /** Sends the examples of all parameters and of the body, as tools do. */
  const send = ({ path, method, described }: Any): Promise<Answer> => {
    const examplesIn = (place: string): [string, string][] =>
      described.parameters
        .filter((one: Any) => one.in === place && !['cursor', 'limit', 'offset'].includes(one.name))
        .map(({ name, example }: Any) => [name, String(example)])
    const inPath = new Map(examplesIn('path'))
    const query = new URLSearchParams(examplesIn('query'))
    const [[mediaType, content] = []] = Object.entries<Any>(described.requestBody?.content ?? {})
    return service.call({
      method: method.toUpperCase(),
      path: `${path.replace(/\{(\w+)\}/g, (_: string, name: string) => inPath.get(name))}?${query}`,
      as: described.security.some((one: Any) => 'bearer' in one) ? as : null,
      headers: {
        ...Object.fromEntries(examplesIn('header')),
        ...(mediaType && { 'Content-Type': mediaType }),
      },
      ...(content && { body: content.example }),
    })
  }

  test.each(operations)('%s is valid', async (_, operation) => {
    const answer = await send(operation)
    expect(String(answer.json?.error?.code ?? answer.status)).not.toMatch(/^(VALIDATION|CONFLICT|AUTHZ)/)
  })

  test('places an order', async () => {
    const [, createOrder] = operations.find(([id]) => id === 'createOrder') ?? []
    expect((await send(createOrder)).status).toBe(201)
    expect(operations[0]?.[0]).toBe('createOrder')
  })
})
