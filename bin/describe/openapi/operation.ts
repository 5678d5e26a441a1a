import * as v from 'valibot'
import type { RouteEntry } from '#functions/routes.ts'
import { permissions, tokenScopes } from '#shared/platform/identity/authorize.ts'
import { bodyTypesOf, hasBody, type Route, takesSession } from '#shared/platform/request/route.ts'
import type { Settings } from '#shared/settings/register.ts'
import { keyScopesOf } from './api-keys.ts'
import { reference } from './components.ts'
import { errorResponses, isDeprecated } from './errors.ts'
import { exampleOf } from './examples.ts'
import { parametersOf } from './parameters.ts'
import { type Json, jsonSchema, openPointMark, responseSchema } from './schemas.ts'

type OperationJson = ReturnType<typeof operation>

/** Returns the description of one operation of the route table, with the settings that decide it. */
export function operation(entry: RouteEntry, settings: Settings) {
  const { value, keys } = recorded(settings, (recording) => description(entry, recording))
  const marks = JSON.stringify(value).matchAll(/"x-open-point":"([^"]+)"/g)
  const points = new Set<string>([...keys, ...Array.from(marks, ([, key = '']) => key)])
  return { ...value, 'x-open-points': [...points].sort() }
}

/** Calls a function with the settings. @returns its result, and the keys of the settings that it has read */
function recorded<T>(settings: Settings, read: (recording: Settings) => T) {
  const keys = new Set<keyof Settings>()
  const recording = new Proxy(settings, {
    get(target, key: keyof Settings) {
      keys.add(key)
      return target[key]
    },
  })
  return { value: read(recording), keys }
}

function description({ route, folder }: RouteEntry, settings: Settings) {
  const { body, latency, payloadKilobytes, throttle, bodyBytes, replyBytes, reply } = route
  // The description does not show these, but the settings that they read shape the request or the reply.
  for (const hidden of [throttle, bodyBytes, replyBytes, reply.replayStatus]) hidden?.(settings)
  return {
    summary: route.summary,
    description: [route.description, ...conditions(route, settings)].join(' '),
    tags: [folder.split('/')[0]],
    deprecated: isDeprecated(route, settings) || undefined,
    security: securityOf(route, settings),
    ...(route.auth === 'bearer' && { 'x-api-key-scopes': keyScopesOf(route, settings) ?? null }),
    parameters: parametersOf(route, settings),
    ...(body && { requestBody: requestBody(route, body, settings) }),
    responses: { ...successes(route, settings), ...errorResponses(route, settings) } as Record<string, Json>,
    ...(latency && { 'x-latency-milliseconds': latency }),
    ...(payloadKilobytes !== undefined && { 'x-payload-kilobytes': payloadKilobytes }),
  }
}

/** Generators of clients take a body of this format from a file. */
const file = { format: 'binary' }

function requestBody(route: Route, body: NonNullable<Route['body']>, settings: Settings): Json {
  const { example } = route
  const schemas = bodyTypesOf(route, settings).map((type) => [type, body(settings, type)] as const)
  return {
    required: schemas.every(([, schema]) => !v.safeParse(schema, {}).success),
    content: Object.fromEntries(
      schemas.map(([type, schema]) => [
        type,
        {
          schema: { ...jsonSchema(schema), ...(type === 'text/csv' && file) },
          ...(example && { example: example(settings, type) }),
        },
      ]),
    ),
  }
}

function successes(route: Route, settings: Settings): Json {
  const { reply, idempotency } = route
  const { value: status, keys } = recorded(settings, reply.status)
  const [byProfile] = keys
  const common = { 'X-Correlation-Id': reference('headers', 'CorrelationId') }
  const etag = { ETag: reference('headers', 'ETag') }
  const location = { Location: reference('headers', 'Location') }
  const mediaType = reply.mediaType?.(settings) ?? 'application/json'
  const schema = reply.schema(settings)
  const described = schema.type === 'undefined' ? undefined : responseSchema(schema)
  const success = {
    description: 'Success.',
    headers: {
      ...common,
      ...(reply.etag && etag),
      ...(reply.location && location),
      ...(reply.retryAfter && { 'Retry-After': reference('headers', 'RetryAfter') }),
      ...(reply.attachment && { 'Content-Disposition': reference('headers', 'ContentDisposition') }),
      ...(route.setsCookies && { 'Set-Cookie': reference('headers', 'SetCookie') }),
      ...(idempotency !== 'none' && { 'Idempotency-Status': reference('headers', 'IdempotencyStatus') }),
    },
    ...(described && {
      content: {
        [mediaType]: {
          schema: described,
          example: exampleOf(described, { operation: route.operation, settings }, mediaType),
        },
      },
    }),
    ...(byProfile && openPointMark(byProfile)),
  }
  return {
    [status]: success,
    ...(reply.etag && !hasBody(route) && { 304: reference('responses', 'NotModified') }),
    ...Object.fromEntries((reply.others ?? []).map((other) => [other, reference('responses', 'SeeOther')])),
  }
}

/** Returns a sentence for each condition of the caller's role, key and reason. */
function conditions(route: Route, settings: Settings): string[] {
  const { access, reason } = route
  const isForAdmins = access && permissions[access].Editor === 'deny' && permissions[access].Viewer === 'deny'
  return [
    ...(isForAdmins ? ['Only the role Admin may use it.'] : []),
    ...(reason ? [`The header ${reason(settings).header} must state the reason for the audit.`] : []),
    ...(route.auth === 'bearer' ? [keyDescription(route, settings)] : []),
  ]
}

function keyDescription(route: Route, settings: Settings): string {
  const scopes = keyScopesOf(route, settings)
  if (!scopes) return 'API keys are not accepted.'
  return `An API key needs the scope ${scopes.map((scope) => `\`${scope}\``).join(' and ')}.`
}

function securityOf(route: Route, settings: Settings): Json[] {
  if (route.auth === 'none') return []
  if (route.auth === 'signature') return [{ [route.signer ? 'stripeSignature' : 'signature']: [] }]
  const scopes = tokenScopes(route, settings)
  const apiKey = keyScopesOf(route, settings) ? [{ apiKey: scopes }] : []
  const session = takesSession(route, settings) ? [{ session: [], csrf: [] }] : []
  return [{ bearer: scopes }, ...apiKey, ...session]
}

/** Merges two routes of one method and path, distinguished only by a parameter, into one operation. */
export function withVariant(first: OperationJson, other: OperationJson): OperationJson {
  const nameOf = ({ name, $ref }: Json) => name ?? $ref
  const merged = first.parameters.map((one) => {
    const same = other.parameters.find(({ name }) => name !== undefined && name === one.name)
    if (!same) return one
    const description = one.description || same.description
    return { ...one, description, required: Boolean(one.required && same.required) }
  })
  const names = first.parameters.map(nameOf)
  const added = other.parameters
    .filter((one) => !names.includes(nameOf(one)))
    .map((one) => ('$ref' in one ? one : { ...one, required: false }))
  const statuses = Object.keys({ ...first.responses, ...other.responses })
  return {
    ...first,
    // The operation is deprecated only if both routes are.
    deprecated: first.deprecated && other.deprecated,
    summary: `${first.summary}; ${other.summary.toLowerCase()}`,
    description: `${first.description} ${other.summary}: ${other.description}`,
    parameters: [...merged, ...added],
    responses: Object.fromEntries(
      statuses.map((status) => [status, withCodes(first.responses[status], other.responses[status])]),
    ),
    'x-open-points': [...new Set([...first['x-open-points'], ...other['x-open-points']])],
  }
}

/** Returns the response of both routes for a status, with the error codes of both. */
function withCodes(one: Json | undefined, other: Json | undefined): Json {
  if (!one?.$ref || !other?.$ref) return { ...other, ...one }
  const codes = `${one.description}, ${other.description}`.split(', ')
  return { ...one, description: [...new Set(codes)].join(', ') }
}
