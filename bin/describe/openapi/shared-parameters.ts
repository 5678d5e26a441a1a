import { baggageMaxBytes, correlationIdPattern } from '#shared/platform/base/correlation.ts'
import { absurdPageSize } from '#shared/platform/listing/list-query.ts'
import type { Settings } from '#shared/settings/register.ts'
import { etag, withExample } from './examples.ts'
import { header, pageSizeSchema, path, query, tenantName } from './parameter.ts'
import { type Json, openPointMark } from './schemas.ts'

/** Returns the parameters that several operations share. */
export function sharedParameters(settings: Settings): Json {
  const { header: nonce, mode } = settings['auth.nonce']
  const shared: Record<string, Json> = {
    Id: path('id', 'The id of the item.'),
    OperationId: path('operation_id', 'The id of the operation.'),
    Tenant: query(
      settings['auth.adminTenantParameter'],
      'The tenant of the request. An Admin may name any tenant, others only their own.',
      {
        schema: tenantName(settings),
        example: 'acme',
        ...openPointMark('auth.adminTenantParameter'),
      },
    ),
    ...pages(settings),
    ...idempotencyKeys(settings),
    Nonce: header(nonce, `The nonce that the client chose at login; mode ${mode}.`, {
      example: 'n-0S6_WzA2Mj',
      ...openPointMark('auth.nonce'),
    }),
    ...preconditions(),
    ...requestHeaders(settings),
  }
  return Object.fromEntries(Object.entries(shared).map(([name, one]) => [name, withExample(one)]))
}

function pages(settings: Settings): Record<string, Json> {
  const roles = settings['lists.includeDeletedRoles'].join(', ')
  // Without a default: some generated clients send one, in the spelling of their language.
  const deleted = { schema: { type: 'boolean' }, ...openPointMark('lists.includeDeletedRoles') }
  return {
    PageSize: query(
      'page_size',
      `The number of items in a page. A larger value counts as the maximum, and one above ${absurdPageSize} is rejected.`,
      { schema: { ...pageSizeSchema(settings), default: 25 } },
    ),
    Cursor: query(
      'cursor',
      `An opaque value from an earlier response. A request reads at most ${settings['lists.readBudget']} items, so a page may be short.`,
      {
        schema: { type: 'string', minLength: 1, maxLength: 1024 },
        ...openPointMark('lists.readBudget'),
      },
    ),
    IncludeDeleted: query('include_deleted', `Includes soft-deleted items. For the roles ${roles}.`, deleted),
    Deleted: query(
      'deleted',
      `Returns soft-deleted items only. For the roles ${roles}. Rejected if include_deleted is sent and differs.`,
      deleted,
    ),
  }
}

function idempotencyKeys(settings: Settings): Record<string, Json> {
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
        ...openPointMark('idempotency.keyMaxLength'),
      },
    },
  )
  return { IdempotencyKey: { ...key, required: true }, OptionalIdempotencyKey: key }
}

function preconditions(): Record<string, Json> {
  return {
    IfNoneMatch: header(
      'If-None-Match',
      'A known entity tag. While it is current, a read returns 304 and a change is rejected with 412.',
      { example: etag },
    ),
    IfMatch: header(
      'If-Match',
      'The entity tag that the caller has read. The request is rejected if the item has changed since.',
      { required: true, example: etag, ...openPointMark('codes.missingIfMatch') },
    ),
    OptionalIfMatch: header(
      'If-Match',
      'The entity tag that the caller has read. The response is 412 if the item has changed since, or if the tag is weak. * matches any item that exists.',
      { example: '*' },
    ),
  }
}

function requestHeaders(settings: Settings): Record<string, Json> {
  const { unit, minMilliseconds, maxMilliseconds } = settings['requests.timeoutHeader']
  return {
    CorrelationId: header(
      'X-Correlation-Id',
      `Accepted if it matches ${correlationIdPattern(settings).source}; otherwise the service generates one.`,
      openPointMark('requests.correlationId'),
    ),
    RequestTimeout: header(
      'X-Request-Timeout',
      `The time limit of the request, in ${unit}: ${minMilliseconds} to ${maxMilliseconds} ms, and other values are replaced by the nearest of these. After it the response is DEPENDENCY.timeout.`,
      {
        schema: { type: 'integer', minimum: 1, maximum: 999_999_999 },
        example: unit === 'seconds' ? maxMilliseconds / 1000 : maxMilliseconds,
        ...openPointMark('requests.timeoutHeader'),
      },
    ),
    Traceparent: header('traceparent', 'W3C Trace Context.'),
    Tracestate: header('tracestate', 'W3C Trace Context.'),
    Baggage: header(
      'baggage',
      `W3C Baggage. Members beyond ${baggageMaxBytes} bytes are dropped. It is passed on to events and other services, so it must not contain secrets.`,
    ),
  }
}
