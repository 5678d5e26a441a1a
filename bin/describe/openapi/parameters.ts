import { pascalCase } from '#lib/functions/function-names.ts'
import { type FieldKind, type Listing, operatorsOf, sortsOf } from '#shared/platform/listing/listing.ts'
import { pathOf, pathVariables, type Route } from '#shared/platform/request/route.ts'
import type { Settings } from '#shared/settings/register.ts'
import { reference } from './components.ts'
import { withExample } from './examples.ts'
import { header, pageSizeSchema, query, tenantName } from './parameter.ts'
import { type Json, jsonSchema, openPointMark } from './schemas.ts'

/** Returns every parameter of an operation. Credentials are security schemes instead. */
export function parametersOf(route: Route, settings: Settings): Json[] {
  const { auth, reason, listing } = route
  const readsTag = route.reply.etag && route.method === 'GET'
  // The tags of lists are weak, so If-Match never matches one.
  const matchesTag = readsTag && !listing
  const shared = [
    ...(route.ifMatch === 'required' ? ['IfMatch'] : []),
    ...(route.ifMatch === 'accepted' || matchesTag ? ['OptionalIfMatch'] : []),
    ...(route.idempotency === 'none' ? [] : [idempotencyKeyOf(route, settings)]),
    ...(route.ifMatch || readsTag ? ['IfNoneMatch'] : []),
    ...(auth === 'bearer' ? ['Nonce'] : []),
    'CorrelationId',
    ...(route.ignoresCallerOptions ? [] : ['RequestTimeout']),
    ...['Traceparent', 'Tracestate', 'Baggage'],
  ]
  const own = [
    ...pathVariables(pathOf(route, settings)).map((name) => reference('parameters', pascalCase(name))),
    ...(auth === 'bearer' ? [reference('parameters', 'Tenant')] : []),
    ...(listing ? parametersOfList(route, listing, settings) : queryParameters(route, settings)),
    ...(reason ? [reasonHeader(reason(settings))] : []),
    ...Object.entries(route.headers?.(settings) ?? {}).map(
      ([name, { description, required, key, schema, example }]) =>
        header(name, description, {
          required,
          example,
          ...(schema && { schema: jsonSchema(schema) }),
          ...openPointMark(key),
        }),
    ),
    ...shared.map((name) => reference('parameters', name)),
  ]
  return own.map(withExample)
}

function idempotencyKeyOf({ operation, idempotency }: Route, settings: Settings): string {
  const required = idempotency === 'required' || settings['idempotency.requiredOn'].includes(operation)
  return required ? 'IdempotencyKey' : 'OptionalIdempotencyKey'
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
    example: 'created by mistake',
    ...openPointMark('codes.hardDeleteReason'),
  })
}

/** Returns the query parameters of a list: its order, its page and its filters. */
function parametersOfList({ operation }: Route, listing: Listing, settings: Settings): Json[] {
  const byOffset = settings['lists.offsetPaging'].some((one) => one === operation)
  const otherOrders = Object.keys(listing.orders ?? {}).map(
    (field) => ` ${field} sorts by its characters, then by id.`,
  )
  const byProfile = openPointMark('lists.offsetPaging')
  const fields = Object.entries(listing.fields)
  return [
    query('sort', `The order. created_at is the time in the id, so both sort alike.${otherOrders.join('')}`, {
      schema: {
        type: 'string',
        enum: sortsOf(listing),
        default: settings['lists.defaultSort'],
        ...openPointMark('lists.defaultSort'),
      },
    }),
    reference('parameters', 'PageSize'),
    reference('parameters', 'Cursor'),
    query(
      'q',
      `Searches ${listing.search(settings).join(', ')} for this text in any case, by Unicode case folding.`,
      {
        schema: { type: 'string', minLength: 1, maxLength: settings['lists.maxSearchLength'] },
        ...openPointMark('lists.searchFields'),
      },
    ),
    reference('parameters', 'IncludeDeleted'),
    reference('parameters', 'Deleted'),
    ...(byOffset
      ? [
          query('limit', 'Legacy paging. Another name of page_size; rejected together with it.', {
            schema: { ...pageSizeSchema(settings), ...byProfile },
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
    if (kind === 'tenant')
      return query(name, `Another name of ${settings['auth.adminTenantParameter']}.`, { schema: value })
    if (operator !== 'in')
      return query(name, `${field} ${comparisons[operator]} this value.`, { schema: value })
    const schema = { type: 'array', items: value, minItems: 1, maxItems: settings['lists.maxFilterValues'] }
    const commas = { style: 'form', explode: false }
    return query(name, `${field} is one of these values, separated by commas.`, { schema, ...commas })
  })
}

function schemaOfValue(field: string, kind: FieldKind, listing: Listing, settings: Settings): Json {
  if (kind === 'boolean') return { type: 'boolean' }
  if (kind === 'tenant') return tenantName(settings)
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
