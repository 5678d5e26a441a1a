import { createHash } from 'node:crypto'

/** The primary key of an item. */
export interface Key {
  pk: string
  sk: string
}

export type Item = Key & Record<string, unknown>

/** The pattern of all possible tenant names. Names are part of keys, so they cannot contain the separators of keys. */
export const tenantPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/**
 * The entities of the table. Partitions are per entity and tenant, sorted by id: one tenant's items cannot be addressed
 * from another, and a list is one Query. `shards` spreads a tenant over several partitions when it outgrows one; reads
 * merge them. A new entity is one line.
 */
export const entities = {
  order: { shards: 1 },
  audit: { shards: 1 },
  code: { shards: 1 },
  /** Uniqueness locks of code texts in a tenant, sorted by text; also used to find and sort codes by text. */
  code_lock: { shards: 1 },
  refund: { shards: 1 },
  /** The charges that may not be refunded again, by charge id. */
  refund_hold: { shards: 1 },
  /** Items that carry the events of rejected discount codes, unless their cart changes and carries them. */
  verification: { shards: 1 },
  /** Items that carry the events of logins. */
  login: { shards: 1 },
  /** Password reset mails, until they are sent. */
  password_reset: { shards: 1 },
  cart: { shards: 1 },
  /** Gift cards and taxes of carts, by cart and kind. */
  cart_line: { shards: 1 },
  /** Customers by a hash of their e-mail address; many, and written in bulk. */
  customer: { shards: 8 },
  operation: { shards: 1 },
  /** The number of operations in progress. A purge deletes it after them, as each one that ends decrements it. */
  operation_count: { shards: 1 },
  /** The operation that imports a file in a tenant, by the file's hash. */
  file_reservation: { shards: 1 },
  /** One entry per successful refund. */
  ledger: { shards: 1 },
  /** Logins by one-time code. */
  session: { shards: 1 },
  /** API keys of the role Service. */
  api_key: { shards: 1 },
  /** Legal holds by target, and their number. A purge leaves them, as it is refused while there are any. */
  legal_hold: { shards: 1 },
} as const satisfies Record<string, { shards: number }>

export type Entity = keyof typeof entities

export function isEntity(name: string): name is Entity {
  return Object.hasOwn(entities, name)
}

/** The index that finds an entity by id in any tenant: keys only, for reads by an Admin and for denials. */
export const byIdIndex = 'by-id'

/** @param shards the number of partitions of the entity in a tenant; only tests set it */
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

/**
 * Work that the service finishes by itself, and that is found without a scan: sagas, refunds about which the provider must
 * be asked, and operations. Each has an entry from its start to its end.
 */
export type PendingWork = 'pending-saga' | 'open-refund' | 'unfinished-operation'

/**
 * The partitions of the entries of each kind, of all tenants. A refund adds and removes an entry in transactions, which
 * takes four write units: 32 partitions take 8,000 refunds a second, 16 would take 4,000. The number is a part of the key:
 * with another one, a sweep misses entries that exist.
 */
const pendingPartitions = 32

/** Returns the partitions of the entries of a kind of work. */
export function pendingPartitionsOf(work: PendingWork): string[] {
  return Array.from({ length: pendingPartitions }, (_, shard) => `${work}#${shard}`)
}

/** Returns the key of an entry. @param id the id of the work; entries are sorted by its time */
export function pendingKeyOf(work: PendingWork, id: string): Key {
  return { pk: `${work}#${shardOf(id, pendingPartitions)}`, sk: id }
}

/** Returns the tenant and entity of a partition key. */
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
