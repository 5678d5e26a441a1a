import type { Settings } from '../../settings/register.ts'
import type { Entity } from '../table/keys.ts'

/** What a field holds, and so which filters it takes: ranges are for date-times and numbers. */
export type FieldKind = 'string' | 'integer' | 'date-time'

/** A list as data: what can be filtered, sorted and searched (contract, 'GET /v1/orders and GET /codes'). */
export interface Listing {
  entity: Entity
  /** Each field that `<field>`, `<field>.in` and, by kind, the ranges may name. */
  fields: Readonly<Record<string, FieldKind>>
  /** The values of a field that has a fixed set: others are refused. */
  allowed: (settings: Settings) => Readonly<Record<string, readonly string[]>>
  search: (settings: Settings) => readonly string[]
}

export const rangeOperators = ['gte', 'gt', 'lte', 'lt'] as const
export type Operator = 'eq' | 'in' | (typeof rangeOperators)[number]

/** The operators that a field of this kind takes. */
export function operatorsOf(kind: FieldKind): Operator[] {
  return kind === 'string' ? ['eq', 'in'] : ['eq', 'in', ...rangeOperators]
}
