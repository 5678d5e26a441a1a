import { correlationIdPattern } from '#shared/platform/base/correlation.ts'
import { tenantNamePattern } from '#shared/platform/identity/caller.ts'
import { pathOf, pathVariables, type Route } from '#shared/platform/request/route.ts'
import type { Settings } from '#shared/settings/register.ts'
import { listParameters } from './list-parameters.ts'
import { header, query } from './parameter.ts'
import { type Json, jsonSchema, reference } from './schemas.ts'

/** Returns every parameter of an operation. */
export function parametersOf(route: Route, settings: Settings): Json[] {
  return [
    ...pathVariables(pathOf(route, settings)).map((name) => path(name)),
    ...(route.auth === 'bearer' ? [reference('parameters', 'Tenant')] : []),
    ...(route.listing ? listParameters(route, route.listing, settings) : queryParameters(route, settings)),
    ...(route.ifMatch === 'required' ? [reference('parameters', 'IfMatch')] : []),
    ...(route.ifMatch === 'accepted' ? [reference('parameters', 'IfMatchOptional')] : []),
    ...(route.reason ? [reasonHeader(route.reason(settings))] : []),
    ...(route.idempotency === 'none' ? [] : [idempotencyKey(route, settings)]),
    ...(route.reply.etag && route.method === 'GET' ? [reference('parameters', 'IfNoneMatch')] : []),
    ...(route.auth === 'bearer' ? [reference('parameters', 'Nonce')] : []),
    ...['CorrelationId', 'RequestTimeout', 'Traceparent', 'Tracestate', 'Baggage'].map((name) =>
      reference('parameters', name),
    ),
  ]
}

/** Returns the parameters that several operations share. */
export function sharedParameters(settings: Settings): Json {
  const { unit, maxMilliseconds } = settings['requests.timeoutHeader']
  return {
    Tenant: {
      ...query(
        settings['auth.adminTenantParameter'],
        'The tenant to work in: an Admin may name any, others their own.',
      ),
      schema: {
        type: 'string',
        pattern: tenantNamePattern(settings).source,
        'x-open-point': 'requests.tenantName',
      },
      'x-open-point': 'auth.adminTenantParameter',
    },
    Nonce: {
      ...header(
        settings['auth.nonce'].header,
        `What the client chose at login; mode ${settings['auth.nonce'].mode}.`,
      ),
      'x-open-point': 'auth.nonce',
    },
    IfNoneMatch: header(
      'If-None-Match',
      'An entity tag that the caller has: answered 304 while it is current.',
    ),
    IfMatch: {
      ...header(
        'If-Match',
        'The entity tag that the caller has seen: refused once the item has changed since.',
      ),
      required: true,
      'x-open-point': 'codes.missingIfMatch',
    },
    IfMatchOptional: header(
      'If-Match',
      'The entity tag that the caller has seen: 412 once the item has changed since. * matches any item that exists.',
    ),
    CorrelationId: {
      ...header(
        'X-Correlation-Id',
        `Kept if it matches ${correlationIdPattern(settings).source}; otherwise the service makes another one.`,
      ),
      'x-open-point': 'requests.correlationId',
    },
    RequestTimeout: {
      ...header(
        'X-Request-Timeout',
        `The time that the caller gives the request, in ${unit}; ${maxMilliseconds} ms at most. Less than a second mostly ends in DEPENDENCY.timeout.`,
      ),
      schema: { type: 'integer', minimum: 1000, maximum: 999_999_999 },
      'x-open-point': 'requests.timeoutHeader',
    },
    Traceparent: header('traceparent', 'W3C Trace Context.'),
    Tracestate: header('tracestate', 'W3C Trace Context.'),
    Baggage: {
      ...header(
        'baggage',
        `W3C Baggage. Members beyond ${settings['requests.baggageMaxBytes']} bytes are not passed on. It reaches events and other services, so put no secrets into it.`,
      ),
      'x-open-point': 'requests.baggageMaxBytes',
    },
  }
}

function queryParameters(route: Route, settings: Settings): Json[] {
  if (!route.query) return []
  const { properties = {}, required = [] } = jsonSchema(route.query(settings)) as {
    properties?: Record<string, Json>
    required?: string[]
  }
  return Object.entries(properties).map(([name, schema]) => {
    return { name, in: 'query', required: required.includes(name), schema }
  })
}

function reasonHeader({ header: name, maxLength }: { header: string; maxLength: number }): Json {
  return {
    ...header(name, 'Why, for the audit.'),
    required: true,
    schema: { type: 'string', minLength: 1, maxLength },
    'x-open-point': 'codes.hardDeleteReason',
  }
}

function idempotencyKey(route: Route, settings: Settings): Json {
  const decided = settings['idempotency.requiredOn'].includes(route.operation)
  return {
    ...header(
      'Idempotency-Key',
      'Makes the request safe to send again: one effect and one answer for each key.',
    ),
    required: route.idempotency === 'required' || decided,
    example: `try-${route.operation}`,
    schema: {
      type: 'string',
      minLength: 1,
      maxLength: settings['idempotency.keyMaxLength'],
      pattern: '^[\\x21-\\x7e]+$',
      'x-open-point': 'idempotency.keyMaxLength',
    },
    ...(decided && { 'x-open-point': 'idempotency.requiredOn' }),
  }
}

function path(name: string): Json {
  return { name, in: 'path', required: true, schema: { type: 'string', minLength: 1 } }
}
