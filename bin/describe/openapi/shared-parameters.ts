import { baggageMaxBytes, correlationIdPattern } from '#shared/platform/base/correlation.ts'
import type { Settings } from '#shared/settings/register.ts'
import { tenantNamePattern } from '#shared/settings/tenant-name.ts'
import { header, pageSize, path, query } from './parameter.ts'
import { type Json, openPoint } from './schemas.ts'

/** Returns the parameters that several operations share. */
export function sharedParameters(settings: Settings): Json {
  const pattern = tenantNamePattern(settings).source
  const { header: nonce, mode } = settings['auth.nonce']
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
    ...pages(settings),
    ...idempotencyKeys(settings),
    Nonce: header(nonce, `The nonce that the client chose at login; mode ${mode}.`, openPoint('auth.nonce')),
    ...preconditions(),
    ...requestHeaders(settings),
  }
}

function pages(settings: Settings): Json {
  const roles = settings['lists.includeDeletedRoles'].join(', ')
  // Without a default: some generated clients send one, in the spelling of their language.
  const deleted = { schema: { type: 'boolean' }, ...openPoint('lists.includeDeletedRoles') }
  return {
    PageSize: query('page_size', 'The number of items in a page, at most 100. Larger values count as 100.', {
      schema: { ...pageSize(settings), default: 25 },
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
  }
}

function idempotencyKeys(settings: Settings): Json {
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
  return { IdempotencyKey: { ...key, required: true }, OptionalIdempotencyKey: key }
}

function preconditions(): Json {
  return {
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
      'The entity tag that the caller has read. The response is 412 if the item has changed since, or if the tag is weak. * matches any item that exists.',
    ),
  }
}

function requestHeaders(settings: Settings): Json {
  const { unit, minMilliseconds, maxMilliseconds } = settings['requests.timeoutHeader']
  return {
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
      `W3C Baggage. Members beyond ${baggageMaxBytes} bytes are dropped. It is passed on to events and other services, so it must not contain secrets.`,
    ),
  }
}
