import { createHash } from 'node:crypto'

/** The primary key of an item. */
export interface Key {
  pk: string
  sk: string
}

export type Item = Key & Record<string, unknown>

/**
 * The entities of the table. Each lies in partitions of its tenant and kind, sorted by id, so that one tenant's
 * items cannot be addressed from another and a list is one Query. `shards` spreads a tenant over several
 * partitions once it outgrows one; reads merge them. A new entity is one line.
 */
export const entities = {
  order: { shards: 1 },
  audit: { shards: 1 },
  code: { shards: 1 },
  /** Who holds a code's text in its tenant, sorted by that text: makes it unique, and finds and sorts codes by it. */
  code_claim: { shards: 1 },
  refund: { shards: 1 },
  /** The charges that may not be refunded again, by their id. */
  refund_hold: { shards: 1 },
  /** What carries the event of a discount's verification. */
  verification: { shards: 1 },
  /** What carries the event of a login. */
  login: { shards: 1 },
  /** Mails by which users set new passwords, until they are sent. */
  password_reset: { shards: 1 },
  cart: { shards: 1 },
  /** Gift cards and taxes of carts, by cart and kind. */
  cart_line: { shards: 1 },
  /** Customers by a hash of their e-mail; many, and written in bulk. */
  customer: { shards: 8 },
  operation: { shards: 1 },
  /** How many operations are in progress. Deleted after them, as each that ends is taken out of the count. */
  operation_count: { shards: 1 },
  /** The operation that imports a file of its tenant, by the file's hash. */
  import_claim: { shards: 1 },
  /** One entry for each refund that succeeded. */
  ledger: { shards: 1 },
  /** Logins by one-time code. */
  session: { shards: 1 },
  /** API keys of the role Service. */
  api_key: { shards: 1 },
} as const satisfies Record<string, { shards: number }>

export type Entity = keyof typeof entities

/** The index that finds an entity by id whatever its tenant: keys only, for an Admin's reach and for denials. */
export const byIdIndex = 'by-id'

/** @param shards how many partitions the entity has in a tenant; the register's number unless a test says otherwise */
export function partitionsOf(
  tenant: string,
  entity: Entity,
  shards: number = entities[entity].shards,
): string[] {
  return Array.from({ length: shards }, (_, shard) => partition(tenant, entity, shard))
}

export function keyOf(
  tenant: string,
  entity: Entity,
  id: string,
  shards: number = entities[entity].shards,
): Key {
  return { pk: partition(tenant, entity, shardOf(id, shards)), sk: id }
}

/** The tenant and entity that a partition key names. */
export function ownerOf(pk: string): { entity: string; tenant: string } {
  const [entity = '', tenant = ''] = pk.split('#')
  return { entity, tenant }
}

function partition(tenant: string, entity: Entity, shard: number): string {
  return `${entity}#${tenant}#${shard}`
}

function shardOf(id: string, shards: number): number {
  return shards === 1 ? 0 : createHash('sha256').update(id).digest().readUInt32BE() % shards
}
