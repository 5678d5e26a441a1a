import { correlationIdPattern } from '#shared/platform/base/correlation.ts'
import { tenantNamePattern } from '#shared/platform/identity/caller.ts'
import { type FieldKind, type Listing, operatorsOf, sortsOf } from '#shared/platform/listing/listing.ts'
import { pathOf, pathVariables, type Route } from '#shared/platform/request/route.ts'
import type { Settings } from '#shared/settings/register.ts'
import { pascalCase, reference } from './components.ts'
import { type Json, jsonSchema, openPoint } from './schemas.ts'

/** Returns every parameter of an operation. Credentials are security schemes instead. */
export function parametersOf(route: Route, settings: Settings): Json[] {
  const { auth, reason, listing } = route
  const readsTag = route.reply.etag && route.method === 'GET'
  const shared = [
    ...(route.ifMatch === 'required' ? ['IfMatch'] : []),
    ...(route.ifMatch === 'accepted' || readsTag ? ['OptionalIfMatch'] : []),
    ...(route.idempotency === 'none' ? [] : [idempotencyKeyOf(route, settings)]),
    ...(route.ifMatch || readsTag ? ['IfNoneMatch'] : []),
    ...(auth === 'bearer' ? ['Nonce'] : []),
    'CorrelationId',
    ...(route.ignoresOptions ? [] : ['RequestTimeout']),
    ...['Traceparent', 'Tracestate', 'Baggage'],
  ]
  return [
    ...pathVariables(pathOf(route, settings)).map((name) => reference('parameters', pascalCase(name))),
    ...(auth === 'bearer' ? [reference('parameters', 'Tenant')] : []),
    ...(listing ? listParameters(route, listing, settings) : queryParameters(route, settings)),
    ...(reason ? [reasonHeader(reason(settings))] : []),
    ...Object.entries(route.headers?.(settings) ?? {}).map(([name, { description, required, key }]) =>
      header(name, description, { required, ...openPoint(key) }),
    ),
    ...shared.map((name) => reference('parameters', name)),
  ]
}

function idempotencyKeyOf({ operation, idempotency }: Route, settings: Settings): string {
  const required = idempotency === 'required' || settings['idempotency.requiredOn'].includes(operation)
  return required ? 'IdempotencyKey' : 'OptionalIdempotencyKey'
}

/** Returns the accepted sizes of a page. Sizes above 100 count as 100, up to a limit of the deployment. */
function pageSize(settings: Settings): Json {
  const minimum = settings['lists.pageSizeZero'] === 'one' ? 0 : 1
  return { type: 'integer', minimum, maximum: settings['lists.pageSizeAbsurd'] }
}

/** Returns a parameter of type string. */
function query(name: string, description: string, more: Json = {}): Json {
  return { name, in: 'query', description, schema: { type: 'string' }, ...more }
}

function path(name: string, description: string): Json {
  return { ...query(name, description), in: 'path', required: true, schema: { type: 'string', minLength: 1 } }
}

function header(name: string, description: string, more: Json = {}): Json {
  return { ...query(name, description, more), in: 'header' }
}

/** Returns the parameters that several operations share. */
export function sharedParameters(settings: Settings): Json {
  const { unit, minMilliseconds, maxMilliseconds } = settings['requests.timeoutHeader']
  const { header: nonce, mode } = settings['auth.nonce']
  const pattern = tenantNamePattern(settings).source
  const roles = settings['lists.includeDeletedRoles'].join(', ')
  const deleted = { schema: { type: 'boolean', default: false }, ...openPoint('lists.includeDeletedRoles') }
  const key = header(
    'Idempotency-Key',
    'Makes retries safe: requests with the same key have one effect and the same response. The key is opaque: with and without quotes are two keys.',
    {
      example: 'a4f3c1de-7b52-4e0c-9d7e-2f1b6c8d9e01',
      schema: {
        type: 'string',
        pattern: '^[\\x21-\\x7e]+$',
        minLength: 1,
        maxLength: settings['idempotency.keyMaxLength'],
        ...openPoint('idempotency.keyMaxLength'),
      },
    },
  )
  return {
    Id: path('id', 'The id of the item.'),
    OperationId: path('operation_id', 'The id of the operation.'),
    Tenant: query(
      settings['auth.adminTenantParameter'],
      'The tenant of the request. An Admin may name any tenant, others only their own.',
      {
        schema: { type: 'string', pattern, ...openPoint('requests.tenantName') },
        ...openPoint('auth.adminTenantParameter'),
      },
    ),
    PageSize: query('page_size', 'The number of items in a page, at most 100. Larger values count as 100.', {
      schema: { ...pageSize(settings), default: 25, ...openPoint('lists.pageSizeAbsurd') },
    }),
    Cursor: query(
      'cursor',
      `An opaque value from an earlier response. A request reads at most ${settings['lists.readBudget']} items, so a page may be short.`,
      {
        schema: { type: 'string', minLength: 1, maxLength: 1024 },
        ...openPoint('lists.readBudget'),
      },
    ),
    IncludeDeleted: query('include_deleted', `Includes soft-deleted items. For the roles ${roles}.`, deleted),
    Deleted: query(
      'deleted',
      `Returns soft-deleted items only. For the roles ${roles}. Rejected if include_deleted is sent and differs.`,
      deleted,
    ),
    IdempotencyKey: { ...key, required: true },
    OptionalIdempotencyKey: key,
    Nonce: header(nonce, `The nonce that the client chose at login; mode ${mode}.`, openPoint('auth.nonce')),
    IfNoneMatch: header(
      'If-None-Match',
      'A known entity tag. While it is current, a read returns 304 and a change is rejected with 412.',
    ),
    IfMatch: header(
      'If-Match',
      'The entity tag that the caller has read. The request is rejected if the item has changed since.',
      { required: true, ...openPoint('codes.missingIfMatch') },
    ),
    OptionalIfMatch: header(
      'If-Match',
      'The entity tag that the caller has read. The response is 412 if the item has changed since. * matches any item that exists.',
    ),
    CorrelationId: header(
      'X-Correlation-Id',
      `Accepted if it matches ${correlationIdPattern(settings).source}; otherwise the service generates one.`,
      openPoint('requests.correlationId'),
    ),
    RequestTimeout: header(
      'X-Request-Timeout',
      `The time limit of the request, in ${unit}: ${minMilliseconds} to ${maxMilliseconds} ms, and other values are replaced by the nearest of these. After it the response is DEPENDENCY.timeout.`,
      {
        schema: { type: 'integer', minimum: 1, maximum: 999_999_999 },
        ...openPoint('requests.timeoutHeader'),
      },
    ),
    Traceparent: header('traceparent', 'W3C Trace Context.'),
    Tracestate: header('tracestate', 'W3C Trace Context.'),
    Baggage: header(
      'baggage',
      `W3C Baggage. Members beyond ${settings['requests.baggageMaxBytes']} bytes are dropped. It is passed on to events and other services, so it must not contain secrets.`,
      openPoint('requests.baggageMaxBytes'),
    ),
  }
}

function queryParameters(route: Route, settings: Settings): Json[] {
  if (!route.query) return []
  const { properties = {}, required = [] } = jsonSchema(route.query(settings)) as {
    properties?: Record<string, Json>
    required?: string[]
  }
  return Object.entries(properties).map(([name, { description, ...schema }]) => {
    return { name, in: 'query', description, required: required.includes(name), schema }
  })
}

function reasonHeader({ header: name, maxLength }: { header: string; maxLength: number }): Json {
  const schema = { type: 'string', minLength: 1, maxLength }
  return header(name, 'The reason, for the audit.', {
    required: true,
    schema,
    ...openPoint('codes.hardDeleteReason'),
  })
}

/** Returns the query parameters of a list: its order, its page and its filters. */
function listParameters({ operation }: Route, listing: Listing, settings: Settings): Json[] {
  const byOffset = settings['lists.offsetPaging'].some((one) => one === operation)
  const otherOrders = Object.keys(listing.orders ?? {}).map(
    (field) => ` ${field} sorts by its characters, then by id.`,
  )
  const byProfile = openPoint('lists.offsetPaging')
  const fields = Object.entries(listing.fields)
  return [
    query('sort', `The order. created_at is the time in the id, so both sort alike.${otherOrders.join('')}`, {
      schema: {
        type: 'string',
        enum: sortsOf(listing),
        default: settings['lists.defaultSort'],
        ...openPoint('lists.defaultSort'),
      },
    }),
    reference('parameters', 'PageSize'),
    reference('parameters', 'Cursor'),
    query(
      'q',
      `Searches ${listing.search(settings).join(', ')} for this text in any case, by Unicode case folding.`,
      {
        schema: { type: 'string', minLength: 1, maxLength: settings['lists.maxSearchLength'] },
        ...openPoint('lists.searchFields'),
      },
    ),
    reference('parameters', 'IncludeDeleted'),
    reference('parameters', 'Deleted'),
    ...(byOffset
      ? [
          query('limit', 'Legacy paging. Another name of page_size; rejected together with it.', {
            schema: { ...pageSize(settings), ...byProfile },
          }),
          query('offset', 'Legacy paging. The number of items to skip; rejected with cursor.', {
            schema: { type: 'integer', minimum: 0, maximum: settings['lists.readBudget'], ...byProfile },
          }),
        ]
      : []),
    ...fields.flatMap(([field, kind]) =>
      filters(field, kind, schemaOfValue(field, kind, listing, settings), settings),
    ),
  ]
}

const comparisons = {
  eq: 'equals',
  gte: 'is at or above',
  gt: 'is above',
  lte: 'is at or below',
  lt: 'is below',
}

function filters(field: string, kind: FieldKind, value: Json, settings: Settings): Json[] {
  return operatorsOf(kind).map((operator) => {
    const name = operator === 'eq' ? field : `${field}.${operator}`
    if (operator !== 'in')
      return query(name, `${field} ${comparisons[operator]} this value.`, { schema: value })
    const schema = { type: 'array', items: value, minItems: 1, maxItems: settings['lists.maxFilterValues'] }
    const commas = { style: 'form', explode: false }
    return query(name, `${field} is one of these values, separated by commas.`, { schema, ...commas })
  })
}

function schemaOfValue(field: string, kind: FieldKind, listing: Listing, settings: Settings): Json {
  if (kind === 'boolean') return { type: 'boolean' }
  if (kind === 'date-time') return { type: 'string', format: 'date-time' }
  if (kind === 'integer')
    return {
      type: 'integer',
      format: 'int64',
      minimum: Number.MIN_SAFE_INTEGER,
      maximum: Number.MAX_SAFE_INTEGER,
    }
  const allowed = listing.allowed(settings)[field]
  if (allowed) return { type: 'string', enum: allowed }
  return { type: 'string', minLength: 1, maxLength: settings['lists.maxFilterLength'] }
}
