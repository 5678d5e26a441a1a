import type { Settings } from '../../settings/register.ts'
import { failField } from '../base/failure.ts'
import { charactersOf } from '../formats/text.ts'
import type { Entity, Item, SingleEntity } from '../table/keys.ts'

/**
 * The type of a field, which determines its filters: ranges are for date-times and numbers. The items of a list are of one
 * tenant, which a filter of the kind `tenant` names.
 */
export type FieldKind = 'string' | 'integer' | 'date-time' | 'boolean' | 'tenant'

/** The definition of a list: its filters, sorts and search fields (docs/lists.md). */
export interface Listing {
  entity: Entity
  /** The fields for `<field>`, `<field>.in` and, depending on the kind, the ranges. */
  fields: Readonly<Record<string, FieldKind>>
  /** The allowed values of fields with a fixed set. */
  allowed: (settings: Settings) => Readonly<Record<string, readonly string[]>>
  search: (settings: Settings) => readonly string[]
  /** Normalizes a filter value of a string field to its stored form; undefined for a value that is never stored. */
  normalize?: Readonly<Record<string, (text: string) => string | undefined>>
  /** Returns whether a filter asks for soft-deleted items. Only roles that may see them can use it. */
  reveals?: (filter: Filter) => boolean
  /** The sort fields in addition to created_at and id, each with its index. */
  orders?: Readonly<Record<string, SortIndex>>
  /** The indexes of other fields that find items by a value. */
  finds?: Readonly<Record<string, FindIndex>>
}

/**
 * An entity with one entry per item, written together with it. The sort key of an entry is a name of the item's value, # and
 * the item's id. The value is immutable.
 */
export interface FindIndex {
  entity: Entity
  /** Returns the name of a value in keys; the value itself if absent. */
  nameOf?: (value: string) => string
  /** Returns the id of an entry's item. */
  idOf: (entry: Item) => string
}

/**
 * An index in the order of its values: 1 to 27 printable ASCII characters, each above #. If several items share a value, one
 * entry may have the value alone as its key. An entry may change between the two keys.
 */
export interface SortIndex extends FindIndex {
  entity: SingleEntity
  nameOf?: never
}

const rangeOperators = ['gte', 'gt', 'lte', 'lt'] as const
export type FilterOperator = 'eq' | 'in' | (typeof rangeOperators)[number]

/** One condition of a list request. Date-times are milliseconds since 1970 and may have a fraction. */
export interface Filter {
  field: string
  operator: FilterOperator
  values: readonly FilterValue[]
}

export type FilterValue = string | number | boolean

/** Returns the operators for a kind of field. */
export function operatorsOf(kind: FieldKind): FilterOperator[] {
  if (kind === 'boolean' || kind === 'tenant') return ['eq']
  return kind === 'string' ? ['eq', 'in'] : ['eq', 'in', ...rangeOperators]
}

/** The sort order of a list. */
export interface Sort {
  /** A field of the listing's `orders`, then the id; undefined for created_at, which is the time in the id. */
  sortedBy: string | undefined
  descending: boolean
}

const termPattern = /^([a-z_]+)\.(asc|desc)$/

/**
 * Parses a sort. Rejects fields that can change or have no sorted index: items would move within a session, or would
 * have to be sorted in memory.
 * @throws VALIDATION.sort.field
 */
export function parseSort(sort: string, listing: Listing): Sort {
  const terms = sort.split(',').map((term) => termPattern.exec(term))
  const refused = (reason: string) => {
    const facts = { reason, allowed: sortsOf(listing), actual: charactersOf(sort) }
    return failField('VALIDATION.sort.field', 'sort', facts)
  }
  if (terms.includes(null)) throw refused('format')
  const fields = terms.map((term) => term?.[1] ?? '')
  if (!combinationsOf(listing).some((combination) => combination.join() === fields.join()))
    throw refused(reasonAgainst(fields, listing))
  const directions = new Set(terms.map((term) => term?.[2]))
  if (directions.size > 1) throw refused('mixed_directions')
  const sortedBy = Object.keys(listing.orders ?? {}).find((field) => field === fields[0])
  return { sortedBy, descending: directions.has('desc') }
}

/** Returns every value of `sort` that a list accepts. */
export function sortsOf(listing: Listing): string[] {
  return combinationsOf(listing).flatMap((fields) =>
    ['desc', 'asc'].map((direction) => fields.map((field) => `${field}.${direction}`).join()),
  )
}

/** Returns the effective sort for the response. */
export function sortText({ sortedBy = 'created_at', descending }: Sort): string {
  const direction = descending ? 'desc' : 'asc'
  return `${sortedBy}.${direction},id.${direction}`
}

/** Returns the accepted sequences of sort fields. */
function combinationsOf({ orders = {} }: Listing): string[][] {
  return [
    ['created_at'],
    ['id'],
    ['created_at', 'id'],
    ...Object.keys(orders).flatMap((field) => [[field], [field, 'id']]),
  ]
}

function reasonAgainst(fields: readonly string[], { fields: known, orders = {} }: Listing) {
  const others = fields.filter((field) => !['created_at', 'id', ...Object.keys(orders)].includes(field))
  if (others.some((field) => !Object.hasOwn(known, field))) return 'unknown'
  if (others.length > 0) return 'not_sortable'
  return new Set(fields).size < fields.length ? 'repeated' : 'not_allowed'
}
