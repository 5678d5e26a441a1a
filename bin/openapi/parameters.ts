import { tenantPattern } from '#shared/platform/auth/tenant.ts'
import { pathOf, pathVariables, type Route } from '#shared/platform/http/route.ts'
import { type FieldKind, type Listing, operatorsOf } from '#shared/platform/listing/listing.ts'
import { sortsOf } from '#shared/platform/listing/sort.ts'
import type { Settings } from '#shared/settings/register.ts'
import { type Json, jsonSchema, reference } from './schemas.ts'

/** Every parameter that an operation takes. */
export function parametersOf(route: Route, settings: Settings): Json[] {
  return [
    ...pathVariables(pathOf(route, settings)).map((name) => path(name)),
    ...(route.auth === 'bearer' ? [reference('parameters', 'Tenant')] : []),
    ...(route.listing ? listParameters(route, route.listing, settings) : queryParameters(route, settings)),
    ...(route.ifMatch ? [reference('parameters', 'IfMatch')] : []),
    ...(route.reason ? [reasonHeader(route.reason(settings))] : []),
    ...(route.idempotency === 'none' ? [] : [idempotencyKey(route, settings)]),
    ...(route.reply.etag && route.method === 'GET' ? [reference('parameters', 'IfNoneMatch')] : []),
    ...(route.auth === 'bearer' ? [reference('parameters', 'Nonce')] : []),
    ...['CorrelationId', 'RequestTimeout', 'Traceparent', 'Tracestate'].map((name) =>
      reference('parameters', name),
    ),
  ]
}

/** The parameters that several operations share. */
export function sharedParameters(settings: Settings): Json {
  const { unit, maxMilliseconds } = settings['requests.timeoutHeader']
  return {
    Tenant: {
      ...query(
        settings['auth.adminTenantParameter'],
        'The tenant to work in: an Admin may name any, others their own.',
      ),
      schema: { type: 'string', pattern: tenantPattern.source },
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
    CorrelationId: {
      ...header(
        'X-Correlation-Id',
        'Taken over if it is up to 64 letters, digits, dots, dashes and underscores; else a new one is made.',
      ),
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

function listParameters({ operation }: Route, listing: Listing, settings: Settings): Json[] {
  const offset = settings['lists.offsetPaging'].some((one) => one === operation)
  const pageSize = { type: 'integer', minimum: 1, maximum: settings['lists.pageSizeAbsurd'], default: 25 }
  const budget = settings['lists.readBudget']
  return [
    {
      ...query('sort', meaningOfSort(listing)),
      schema: {
        type: 'string',
        enum: sortsOf(listing),
        default: settings['lists.defaultSort'],
        'x-open-point': 'lists.defaultSort',
      },
    },
    {
      ...query('page_size', 'Items a page; more than 100 are clamped to 100.'),
      schema: { ...pageSize, 'x-open-point': 'lists.pageSizeAbsurd' },
    },
    {
      ...query(
        'cursor',
        `Opaque, from an earlier answer. One request reads ${budget} items at most, so a page may be short.`,
      ),
      schema: { type: 'string', minLength: 1, maxLength: 1024 },
      'x-open-point': 'lists.readBudget',
    },
    {
      ...query('q', `Text search in ${listing.search(settings).join(', ')}, whatever the case.`),
      schema: { type: 'string', minLength: 1, maxLength: 128 },
      'x-open-point': 'lists.searchFields',
    },
    ...['include_deleted', 'deleted'].map((name) => ({
      ...query(name, `For the roles ${settings['lists.includeDeletedRoles'].join(', ')}.`),
      schema: { type: 'boolean', default: false },
      'x-open-point': 'lists.includeDeletedRoles',
    })),
    ...(offset ? ['limit', 'offset'].map((name) => legacy(name)) : []),
    ...Object.entries(listing.fields).flatMap(([field, kind]) => filters(field, kind, listing, settings)),
  ]
}

function meaningOfSort({ orders = {} }: Listing): string {
  const others = Object.keys(orders).map((field) => ` ${field} sorts by its characters, then by id.`)
  return `The order; created_at is the time in the id, so both sort alike.${others.join('')}`
}

function legacy(name: string): Json {
  return {
    ...query(name, 'Legacy paging.'),
    schema: { type: 'integer', minimum: 0 },
    'x-open-point': 'lists.offsetPaging',
  }
}

function filters(field: string, kind: FieldKind, listing: Listing, settings: Settings): Json[] {
  return operatorsOf(kind).map((operator) => {
    const name = operator === 'eq' ? field : `${field}.${operator}`
    const value = schemaOfValue(field, kind, listing, settings)
    if (operator !== 'in')
      return { ...query(name, `${field} ${meanings[operator]} this value.`), schema: value }
    const list = { type: 'array', items: value, minItems: 1, maxItems: 50 }
    return {
      ...query(name, `${field} is one of these, separated by commas.`),
      schema: list,
      style: 'form',
      explode: false,
    }
  })
}

const meanings = {
  eq: 'equals',
  gte: 'is at or above',
  gt: 'is above',
  lte: 'is at or below',
  lt: 'is below',
}

function schemaOfValue(field: string, kind: FieldKind, listing: Listing, settings: Settings): Json {
  const allowed = listing.allowed(settings)[field]
  if (kind === 'boolean') return { type: 'boolean' }
  if (kind === 'date-time') return { type: 'string', format: 'date-time' }
  if (kind === 'integer')
    return { type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }
  return allowed ? { type: 'string', enum: allowed } : { type: 'string', minLength: 1, maxLength: 255 }
}

function path(name: string): Json {
  return { name, in: 'path', required: true, schema: { type: 'string', minLength: 1 } }
}

function query(name: string, description: string): Json {
  return { name, in: 'query', description, schema: { type: 'string' } }
}

function header(name: string, description: string): Json {
  return { name, in: 'header', description, schema: { type: 'string' } }
}
