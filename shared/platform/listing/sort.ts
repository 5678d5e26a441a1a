import { failField } from '../base/failure.ts'
import type { Listing } from './listing.ts'

/** The sort order of a list. */
export interface Sort {
  /** A field of the listing's `orders`, then the id; undefined for created_at, which is the time in the id. */
  sortedBy: string | undefined
  descending: boolean
}

/**
 * Parses a sort. Rejects fields that can change or have no sorted index: items would move within a session, or would
 * have to be sorted in memory.
 * @throws VALIDATION.sort.field
 */
export function parseSort(sort: string, listing: Listing): Sort {
  const terms = sort.split(',').map((term) => /^([a-z_]+)\.(asc|desc)$/.exec(term))
  const fields = terms.map((term) => term?.[1] ?? '')
  const allowed = ['created_at', 'id', ...Object.keys(listing.orders ?? {})]
  if (!combinationsOf(listing).some((combination) => combination.join() === fields.join())) {
    const reason = reasonAgainst(fields, allowed, listing)
    throw failField('VALIDATION.sort.field', 'sort', { reason, allowed })
  }
  const directions = new Set(terms.map((term) => term?.[2]))
  if (directions.size > 1) throw failField('VALIDATION.sort.field', 'sort', { reason: 'mixed_directions' })
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

function reasonAgainst(fields: readonly string[], allowed: readonly string[], { fields: known }: Listing) {
  const others = fields.filter((field) => !allowed.includes(field))
  if (others.some((field) => !Object.hasOwn(known, field))) return 'unknown'
  return others.length > 0 ? 'can_change' : 'not_allowed'
}
