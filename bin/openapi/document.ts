import { routes } from '#functions/routes.ts'
import { hasBody, type Route } from '#shared/platform/http/route.ts'
import type { Settings } from '#shared/settings/register.ts'
import { errorResponses, errorSchema } from './errors.ts'
import { parametersOf, sharedParameters } from './parameters.ts'
import { type Json, jsonSchema, reference } from './schemas.ts'

/** The description of the service as this profile makes it: OpenAPI 3.1, from the route table alone. */
export function openapiDocument(settings: Settings): Json {
  const paths: Record<string, Json> = {}
  for (const { route } of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation(route, settings) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Commerce API',
      version: '1.0.0',
      description:
        'Orders and what belongs to them, for many tenants. Whatever carries x-open-point is decided by the profile of a deployment; the values here are those of the profile local.',
    },
    servers: [{ url: '/' }],
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', 'x-open-point': 'auth.issuers' },
      },
      schemas: { Error: errorSchema },
      parameters: sharedParameters(settings),
      headers: {
        CorrelationId: textHeader('Ties the answer to its log lines, audit records and events.'),
        IdempotencyStatus: {
          ...textHeader(''),
          schema: { type: 'string', enum: ['stored', 'replayed'] },
          description: 'stored by the first call with a key, replayed by the others.',
        },
        ETag: textHeader('A strong entity tag.'),
        Location: textHeader('The address of what was made.'),
        RetryAfter: {
          description: 'Seconds to wait before another try.',
          schema: { type: 'integer', minimum: 0 },
        },
        Challenge: textHeader('How to authenticate (RFC 6750).'),
      },
    },
  }
}

function operation(route: Route, settings: Settings): Json {
  const { body, latency, payloadKilobytes } = route
  return {
    operationId: route.operation,
    summary: route.summary,
    description: route.description,
    tags: [route.operation.split('.')[0]],
    security: route.auth === 'bearer' ? [{ bearer: scopesOf(route, settings) }] : [],
    parameters: parametersOf(route, settings),
    ...(body && {
      requestBody: {
        required: true,
        content: { 'application/json': { schema: jsonSchema(body(settings)) } },
      },
    }),
    responses: { ...successes(route, settings), ...errorResponses(route, settings) },
    ...(latency && { 'x-latency-milliseconds': latency }),
    ...(payloadKilobytes !== undefined && { 'x-payload-kilobytes': payloadKilobytes }),
    'x-open-points': route.openPoints,
  }
}

function successes(route: Route, settings: Settings): Json {
  const { reply } = route
  const status = reply.status(settings)
  const common = { 'X-Correlation-Id': reference('headers', 'CorrelationId') }
  const headers = {
    ...common,
    ...(reply.etag && { ETag: reference('headers', 'ETag') }),
    ...(reply.location && { Location: reference('headers', 'Location') }),
    ...(route.idempotency !== 'none' && { 'Idempotency-Status': reference('headers', 'IdempotencyStatus') }),
  }
  const mediaType = reply.mediaType?.(settings) ?? 'application/json'
  const decided = route.openPoints.find((key) => key.endsWith('Status') && settings[key] === status)
  const success = {
    description: 'Success.',
    headers,
    content: { [mediaType]: { schema: jsonSchema(reply.schema(settings)) } },
    ...(decided && { 'x-open-point': decided }),
  }
  const unchanged = {
    description: 'What the caller has is current.',
    headers: { ...common, ETag: reference('headers', 'ETag') },
  }
  const conditional = reply.etag && !hasBody(route)
  return { [status]: success, ...(conditional && { 304: unchanged }) }
}

function scopesOf({ scope, operation: name }: Route, settings: Settings): string[] {
  const needed = scope ?? settings['auth.scopes'][name]
  return needed === undefined ? [] : [needed]
}

function textHeader(description: string): Json {
  return { description, schema: { type: 'string' } }
}
