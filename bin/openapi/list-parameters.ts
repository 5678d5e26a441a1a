import { type FieldKind, type Listing, operatorsOf } from '#shared/platform/listing/listing.ts'
import { sortsOf } from '#shared/platform/listing/sort.ts'
import type { Route } from '#shared/platform/request/route.ts'
import type { Settings } from '#shared/settings/register.ts'
import { query } from './parameter.ts'
import type { Json } from './schemas.ts'

/** Returns the query parameters of a list: its order, its page and its filters. */
export function listParameters({ operation }: Route, listing: Listing, settings: Settings): Json[] {
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
      schema: { type: 'string', minLength: 1, maxLength: settings['lists.maxSearchLength'] },
      'x-open-point': 'lists.searchFields',
    },
    ...['include_deleted', 'deleted'].map((name) => ({
      ...query(
        name,
        `For the roles ${settings['lists.includeDeletedRoles'].join(', ')}. Refused where both are sent and differ.`,
      ),
      schema: { type: 'boolean', default: false },
      'x-open-point': 'lists.includeDeletedRoles',
    })),
    ...(offset
      ? [
          legacy('limit', 'Another name of page_size; not beside it.'),
          legacy('offset', 'Items to pass over; not beside cursor.'),
        ]
      : []),
    ...Object.entries(listing.fields).flatMap(([field, kind]) => filters(field, kind, listing, settings)),
  ]
}

function meaningOfSort({ orders = {} }: Listing): string {
  const others = Object.keys(orders).map((field) => ` ${field} sorts by its characters, then by id.`)
  return `The order; created_at is the time in the id, so both sort alike.${others.join('')}`
}

function legacy(name: string, meaning: string): Json {
  return {
    ...query(name, `Legacy paging. ${meaning}`),
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
    const list = { type: 'array', items: value, minItems: 1, maxItems: settings['lists.maxFilterValues'] }
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
  return allowed
    ? { type: 'string', enum: allowed }
    : { type: 'string', minLength: 1, maxLength: settings['lists.maxFilterLength'] }
}
