import type { Settings } from '../../settings/register.ts'
import type { Entity, Item } from '../table/keys.ts'

/** What a field holds, and so which filters it takes: ranges are for date-times and numbers. */
export type FieldKind = 'string' | 'integer' | 'date-time' | 'boolean'

/** A list as data: what can be filtered, sorted and searched (contract, 'GET /v1/orders and GET /codes'). */
export interface Listing {
  entity: Entity
  /** Each field that `<field>`, `<field>.in` and, by kind, the ranges may name. */
  fields: Readonly<Record<string, FieldKind>>
  /** The values of a field that has a fixed set: others are refused. */
  allowed: (settings: Settings) => Readonly<Record<string, readonly string[]>>
  search: (settings: Settings) => readonly string[]
  /** Puts a filter's value of a string field into the form in which it is stored; undefined for what never is. */
  normalise?: Readonly<Record<string, (text: string) => string | undefined>>
  /** Whether a filter asks for soft-deleted items, and so is for the roles that may see them. */
  reveals?: (filter: Filter) => boolean
  /** The fields that a list can be sorted by beside created_at and id, each with the entity that is sorted by it. */
  orders?: Readonly<Record<string, SortIndex>>
}

/**
 * An entity with an entry for each item, written with it. The sort key of an entry is the item's value of the field:
 * 1 to 27 printable characters of ASCII, each above #, and as immutable as the id. Of several items with one value,
 * one has that key; the others are set aside under the value, # and their id. An item may change between the two.
 */
export interface SortIndex {
  entity: Entity
  /** The id of the item for which an entry stands. */
  idOf: (entry: Item) => string
}

export const rangeOperators = ['gte', 'gt', 'lte', 'lt'] as const
export type Operator = 'eq' | 'in' | (typeof rangeOperators)[number]

/** One condition of a list request. Date-times are milliseconds since 1970 and may have a fraction. */
export interface Filter {
  field: string
  operator: Operator
  values: readonly FilterValue[]
}

export type FilterValue = string | number | boolean

/** The operators that a field of this kind takes. */
export function operatorsOf(kind: FieldKind): Operator[] {
  if (kind === 'boolean') return ['eq']
  return kind === 'string' ? ['eq', 'in'] : ['eq', 'in', ...rangeOperators]
}
