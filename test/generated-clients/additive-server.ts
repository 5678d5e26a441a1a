import { readFile } from 'node:fs/promises'
import { startHttpServer } from '#test/support/http-server.ts'

type Json = Record<string, unknown>

/** What a minor version of the API may add to the responses. */
export const additions = ['nothing', 'fields', 'values', 'an error code'] as const
type Addition = (typeof additions)[number]

/** A valid call of an operation. */
interface Call {
  operation: string
  tag: string
  /** The values of the required parameters. */
  parameters: Json
  body?: unknown
  body_schema?: string
}

/** The response to a call. */
export interface Sent {
  status: number
  /** JSON, or a text. */
  body: unknown
}

interface Parameter {
  name: string
  required?: boolean
  schema: Json
  example?: unknown
}

interface Response {
  content?: Record<string, { schema: Json; example?: unknown }>
}

interface Operation {
  operationId: string
  tags: [string]
  parameters?: Parameter[]
  requestBody?: { content: Record<string, { schema: Json; example: unknown }> }
  responses: Record<string, Response>
}

interface Described extends Call {
  /** The media types of its body. */
  accepts: string[]
  matches: (method: string, path: string) => boolean
  responses: Record<Addition, Sent & { type: string | undefined }>
}

/** A server that answers every operation of a description, each with what a later version adds. */
export interface AdditiveServer {
  calls: Call[]
  /** The base URL of the responses with an addition. */
  urlOf(addition: Addition): string
  sent(operation: string, addition: Addition): Sent
  stop(): Promise<void>
}

/** @param file openapi.json */
export async function additiveServer(file: string): Promise<AdditiveServer> {
  const described = operationsOf(JSON.parse(await readFile(file, 'utf8')))
  const { url, stop } = await startHttpServer((request, response) => {
    const [, number = '', path = ''] = /^\/(\d+)(\/[^?]*)/.exec(request.url ?? '') ?? []
    const operation = described.find(({ matches }) => matches(request.method ?? '', decodeURIComponent(path)))
    const addition = additions[Number(number)]
    const [mediaType = ''] = (request.headers['content-type'] ?? '').split(';')
    const isSupported = !operation?.body || operation.accepts.includes(mediaType)
    const sent = isSupported ? addition && operation?.responses[addition] : { status: 415 }
    const { status, body, type }: Partial<Described['responses'][Addition]> = sent ?? { status: 501 }
    request.resume()
    response.writeHead(status, type ? { 'Content-Type': type } : {})
    response.end(typeof body === 'string' || body === undefined ? body : JSON.stringify(body))
  })
  return {
    calls: described.map(({ matches: _1, responses: _2, accepts: _3, ...call }) => call),
    urlOf: (addition) => `${url}/${additions.indexOf(addition)}`,
    sent(operation, addition) {
      const found = described.find((one) => one.operation === operation)
      if (!found) throw new Error(`the description has no operation ${operation}`)
      return found.responses[addition]
    },
    stop,
  }
}

function operationsOf(description: Json): Described[] {
  const paths = description.paths as Record<string, Record<string, Operation>>
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => described(description, path, method, operation)),
  )
}

function described(description: Json, path: string, method: string, operation: Operation): Described {
  const resolve = <T>(value: T): T => resolved(value as Json, description) as T
  const parameters = (operation.parameters ?? []).map(resolve).filter(({ required }) => required)
  const { content: contents = {} } = operation.requestBody ?? {}
  const [request] = Object.values(contents)
  const responses = Object.entries(operation.responses).map(
    ([status, response]) => [Number(status), resolve(response)] as const,
  )
  const success = responses.find(([status]) => status < 300)
  const failure = responses.find(([status]) => status >= 400)
  const answer = (addition: Addition) => {
    const [status, { content = {} }] = (addition === 'an error code' ? failure : success) ?? [501, {}]
    const [[type, media] = []] = Object.entries(content)
    return { status, type, body: media && sampleOf(media.schema, media.example, addition, description) }
  }
  const pattern = new RegExp(`^${path.replace(/\{[^}]*\}/g, '[^/:]+')}$`)
  return {
    operation: operation.operationId,
    tag: operation.tags[0],
    accepts: Object.keys(contents),
    parameters: Object.fromEntries(
      parameters.map(({ name, schema, example }) => [
        name,
        example ?? sampleOf(schema, undefined, 'nothing', {}),
      ]),
    ),
    ...(request && {
      body: request.example,
      body_schema: String(request.schema.$ref).split('/').at(-1) ?? '',
    }),
    matches: (called, at) => called.toLowerCase() === method && pattern.test(at),
    responses: Object.fromEntries(additions.map((one) => [one, answer(one)])) as Described['responses'],
  }
}

function resolved({ $ref, ...rest }: Json, description: Json): Json {
  if (typeof $ref !== 'string') return rest
  const target = $ref
    .split('/')
    .slice(1)
    .reduce((at, name) => at[name] as Json, description)
  return resolved(target, description)
}

/** Returns a sample of a schema with all of its optional fields: the example where it has one, and the addition. */
function sampleOf(schema: Json, example: unknown, addition: Addition, description: Json): unknown {
  const inner = (one: Json, value: unknown) => sampleOf(one, value, addition, description)
  const { anyOf, properties, items, format, type, minimum, ...others } = resolved(schema, description)
  const known = (others['x-extensible-enum'] ?? others.enum ?? (others.const && [others.const])) as unknown[]
  if (anyOf) return example === null ? null : inner((anyOf as Json[])[0] ?? {}, example)
  if (properties) {
    const fields = Object.entries(properties as Record<string, Json>).map(([name, field]) => {
      const value = inner(field, (example as Json | undefined)?.[name])
      return [name, addition === 'an error code' && name === 'code' ? 'LATER.code' : value]
    })
    return {
      ...Object.fromEntries(fields),
      ...(addition === 'nothing' ? {} : { added_later: { with: ['more'] } }),
    }
  }
  if (items) return [inner(items as Json, (example as unknown[] | undefined)?.[0])]
  if (known) return addition === 'values' ? 'added_later' : (example ?? known[0])
  if (example !== undefined) return example
  if (type === 'object') return {}
  if (type === 'boolean') return true
  if (type !== 'string') return minimum ?? 1
  return format === 'date-time' ? '2026-01-31T12:00:00.000Z' : 'text'
}
