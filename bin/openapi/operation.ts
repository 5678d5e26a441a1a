import * as v from 'valibot'
import { apiKeyScopes, tokenScopes } from '#shared/platform/identity/authorize.ts'
import { bodyTypesOf, hasBody, type Route, takesSession } from '#shared/platform/request/route.ts'
import type { Settings } from '#shared/settings/register.ts'
import { errorResponses, isDeprecated } from './errors.ts'
import { parametersOf } from './parameters.ts'
import { type Json, jsonSchema, reference } from './schemas.ts'

/** Returns the description of one operation of the route table. */
export function operation(route: Route, settings: Settings) {
  const { body, example, latency, payloadKilobytes } = route
  return {
    operationId: route.operation,
    summary: route.summary,
    description: [route.description, keyDescription(route, settings)].join(' ').trim(),
    tags: [route.operation.split('.')[0]],
    deprecated: isDeprecated(route, settings) || undefined,
    security: securityOf(route, settings),
    ...(route.auth === 'bearer' && { 'x-api-key-scopes': apiKeyScopes(route, settings) ?? null }),
    parameters: parametersOf(route, settings),
    ...(body && {
      requestBody: {
        required: bodyTypesOf(route, settings).every((type) => !acceptsNothing(body(settings, type))),
        content: Object.fromEntries(
          bodyTypesOf(route, settings).map((type) => [
            type,
            {
              schema: jsonSchema(body(settings, type)),
              ...(example && { example: example(settings, type) }),
            },
          ]),
        ),
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
    ...(route.setsCookies && { 'Set-Cookie': reference('headers', 'SetCookie') }),
    ...(route.idempotency !== 'none' && { 'Idempotency-Status': reference('headers', 'IdempotencyStatus') }),
  }
  const mediaType = reply.mediaType?.(settings) ?? 'application/json'
  const schema = reply.schema(settings)
  const decided = route.openPoints.find((key) => key.endsWith('Status') && settings[key] === status)
  const success = {
    description: 'Success.',
    headers,
    ...(schema.type !== 'undefined' && { content: { [mediaType]: { schema: jsonSchema(schema) } } }),
    ...(decided && { 'x-open-point': decided }),
  }
  const unchanged = {
    description: 'What the caller has is current.',
    headers: { ...common, ETag: reference('headers', 'ETag') },
  }
  const conditional = reply.etag && !hasBody(route)
  const others = (reply.others ?? []).map((other) => [
    other,
    {
      description: 'What was asked for lies elsewhere.',
      headers: { ...common, Location: reference('headers', 'Location') },
    },
  ])
  return { [status]: success, ...(conditional && { 304: unchanged }), ...Object.fromEntries(others) }
}

/** Returns whether a request without a body is valid. */
function acceptsNothing(schema: v.GenericSchema): boolean {
  return v.safeParse(schema, {}).success
}

function keyDescription(route: Route, settings: Settings): string {
  if (route.auth !== 'bearer') return ''
  const scopes = apiKeyScopes(route, settings)
  if (!scopes) return 'API keys are not accepted.'
  return `An API key needs the scope ${scopes.map((scope) => `\`${scope}\``).join(' and ')}.`
}

function securityOf(route: Route, settings: Settings): Json[] {
  if (route.auth === 'none') return []
  if (route.auth === 'signature') return [{ signature: [] }]
  const bearer = tokenScopes(route, settings)
  const apiKey = apiKeyScopes(route, settings) ? [{ apiKey: bearer }] : []
  const session = takesSession(route, settings) ? [{ session: [], csrf: [] }] : []
  return [{ bearer }, ...apiKey, ...session]
}
