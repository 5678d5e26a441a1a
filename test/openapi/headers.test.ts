import { beforeAll, expect, test } from '@jest/globals'
import { resolved } from '#bin/describe/openapi/components.ts'
import { openapiDocument } from '#bin/describe/openapi.ts'
import { routes } from '#functions/routes.ts'
import { pathOf } from '#shared/platform/request/route.ts'
import { exampleOf } from '#test/support/examples.ts'
import { type Service, startService } from '#test/support/service.ts'
import { localSettings } from '#test/support/settings.ts'

// biome-ignore lint/suspicious/noExplicitAny: a document of every shape
type Any = any
const document: Any = openapiDocument(localSettings)
const { paths, components } = resolved(document, document)

/** Headers of HTTP itself: OpenAPI describes them by the media types of bodies, or not at all. */
const standard = ['accept', 'content-type', 'content-encoding', 'authorization', 'cookie', 'origin']
const schemes = Object.values<Any>(components.securitySchemes)
const credentials = schemes.filter((scheme) => scheme.in === 'header').map(({ name }) => name.toLowerCase())

/** The headers that some responses have. */
const sometimesSent = new Set(
  Object.values<Any>(paths).flatMap((methods) =>
    Object.values<Any>(methods).flatMap((operation) =>
      Object.values<Any>(operation.responses).flatMap(({ headers }) => Object.keys(headers)),
    ),
  ),
)

let service: Service
beforeAll(async () => {
  service = await startService()
})

test.each(routes.map(({ route }) => [route.operation, route] as const))(
  '%s reads and sends the headers that it describes, and no others',
  async (_, route) => {
    const { path, headers, body } = await exampleOf(route, service, 'acme')
    const as = { tenant: 'acme', role: 'Admin', scope: 'codes:read codes:write' }
    const key = route.idempotency === 'none' ? {} : { 'Idempotency-Key': crypto.randomUUID() }
    service.headersRead.clear()
    const answer = await service.call({
      method: route.method,
      path,
      ...(route.auth === 'bearer' && { as }),
      headers: { ...headers, ...key },
      body,
    })
    expect(answer.status).toBe(route.reply.status(localSettings))
    const { parameters, responses } = paths[pathOf(route, localSettings)][route.method.toLowerCase()]
    const described = parameters
      .filter((one: Any) => one.in === 'header')
      .map((one: Any) => one.name.toLowerCase())
    const read = [...service.headersRead].filter((name) => ![...standard, ...credentials].includes(name))
    // If-Match of a list is read to be rejected: its tag is weak.
    if (route.listing) described.push('if-match')
    expect(read.toSorted()).toEqual(described.filter((name: string) => isOfRoute(name)).toSorted())

    const { headers: sent, content } = responses[answer.status]
    const describable = Object.keys(answer.headers).filter((name) => sometimesSent.has(name))
    expect(Object.keys(sent).toSorted()).toEqual(expect.arrayContaining(describable))
    const { items } = content?.['application/json']?.example ?? {}
    if (items) expect(answer.json.items[0].status).toBe(items[0].status)

    /** A reason is described for both forms of DELETE and read by the permanent one only. */
    function isOfRoute(name: string): boolean {
      const reason = localSettings['codes.hardDeleteReason'].header.toLowerCase()
      return name !== reason || route.reason !== undefined
    }
  },
)
