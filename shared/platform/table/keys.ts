import { createHash } from 'node:crypto'
import { maxShards } from '../../settings/tenant-limits.ts'
import { shardOf, timestamp } from '../base/clock.ts'

export { maxShards, tenantPattern } from '../../settings/tenant-limits.ts'

/** The primary key of an item. */
export interface Key {
  pk: string
  sk: string
}

export type Item = Key & Record<string, unknown>

/**
 * The entities of the table. Partitions are per entity and tenant, and each is sorted by id: one tenant's items cannot be
 * addressed from another. The value says what selects the partition of an item:
 *
 * - `shard`: the last byte of its id, so a large tenant has as many partitions as the setting storage.shards says, and no
 *   item ever moves
 * - `spread`: the last byte of its id, which names any of 64 shards, whatever the setting says: no request lists these items
 * - `hash`: the hash of its name, up to a `#`, which names any of 64, too: each order writes an entry of its cart there, so fewer would limit orders
 * - `one`: nothing, the tenant has one partition
 *
 * A new entity is one line here, and one in `bin/commands/restore/carried.ts`, which says what a restore does with it.
 */
export const entities = {
  order: 'shard',
  /** Entries that find the orders of a cart: a hash of its cart_id, and the id of the order. */
  order_cart: 'hash',
  audit: 'spread',
  code: 'shard',
  /** Uniqueness locks of code texts in a tenant, sorted by text; also used to find and sort codes by text. */
  code_lock: 'one',
  refund: 'spread',
  /** The charges that may not be refunded again, by charge id. */
  charge_lock: 'hash',
  /** Items that carry the events of rejected discount codes, unless their cart changes and carries them. */
  verification: 'spread',
  /** Items that carry the events of logins. */
  login: 'spread',
  /** Password reset mails, until they are sent. */
  password_reset: 'spread',
  cart: 'hash',
  /** Gift cards and taxes of carts, by kind. The lines of a cart are in one partition. */
  cart_line: 'hash',
  /** Customers by a hash of their e-mail address; many, and written in bulk. */
  customer: 'hash',
  operation: 'hash',
  /** The number of operations in progress. A purge deletes it after them, as each one that ends decrements it. */
  operation_count: 'one',
  /** The operation that imports a file in a tenant, by the file's hash. */
  file_reservation: 'one',
  /** One entry per successful refund. */
  ledger: 'spread',
  /** Logins by one-time code. */
  session: 'spread',
  /** API keys of the role Service. */
  api_key: 'hash',
  /** Legal holds by target, and their number. A purge leaves them, as it is refused while there are any. */
  legal_hold: 'one',
  /** Endpoints of the tenant that receive its events. */
  subscriber: 'one',
  /** What is wrong with a subscriber at present, by its id: failures, its circuit breaker and its calls in progress. */
  subscriber_health: 'hash',
  /** One event for one subscriber, with its attempts. */
  delivery: 'spread',
  /** Deliveries that wait in the table, by subscriber and time. Those of a subscriber are in one partition. */
  waiting_delivery: 'hash',
  /** The accounts at the payment provider that the tenant has or had, and which one is connected. */
  account: 'one',
} as const satisfies Record<string, Partitioning>

type Partitioning = 'shard' | 'spread' | 'hash' | 'one'

export type Entity = keyof typeof entities

/** The entities of which a tenant has one partition. */
export type SingleEntity = {
  [Name in Entity]: (typeof entities)[Name] extends 'one' ? Name : never
}[Entity]

export function isEntity(name: string): name is Entity {
  return Object.hasOwn(entities, name)
}

/** The index that finds an entity by id in any tenant: keys only, for reads by an Admin and for denials. */
export const byIdIndex = 'by-id'

/**
 * Returns the partitions of an entity in a tenant.
 * @param shards the number of shards that a list reads; without it, all that can exist
 */
export function partitionsOf(tenant: string, entity: Entity, shards = maxShards): string[] {
  const counts: Record<Partitioning, number> = { shard: shards, spread: maxShards, hash: maxShards, one: 1 }
  return Array.from({ length: counts[entities[entity]] }, (_, number) => partition(tenant, entity, number))
}

/** Returns the key of an item. It depends on no setting, so every release finds every item. */
export function keyOf(tenant: string, entity: Entity, id: string): Key {
  return { pk: partition(tenant, entity, numberOf(entities[entity], id)), sk: id }
}

function numberOf(partitioning: Partitioning, id: string): number {
  if (partitioning === 'one') return 0
  if (partitioning !== 'hash') return shardOf(id)
  const [name = ''] = id.split('#')
  return hashedOf(name, maxShards)
}

interface Shards {
  /** In how many shards new items are stored. */
  writes: number
  /** How many shards a list reads. */
  reads: number
}

/** The part of the settings that keys depend on. */
export interface ShardSettings {
  readonly 'storage.shards': { default: Shards; tenants: Readonly<Record<string, Shards>> }
}

/** Returns the numbers of shards of a tenant. */
export function shardsOf(settings: ShardSettings, tenant: string): Shards {
  const { default: others, tenants } = settings['storage.shards']
  return (Object.hasOwn(tenants, tenant) && tenants[tenant]) || others
}

/**
 * Work that the service finishes by itself, and that is found without a scan: sagas, refunds about which the provider must
 * be asked, operations, and subscribers, for whose deliveries the service works as long as they exist. Each has an entry
 * from its start to its end. Entries of the first two are sorted by the time at which they are due, and move. Each run
 * looks at the last two: their entries are sorted by the id of the work, and their number is limited per tenant.
 */
export const pendingWork = [
  'pending-saga',
  'unsettled-refund',
  'pending-operation',
  'registered-subscriber',
] as const
export type PendingWork = (typeof pendingWork)[number]

/**
 * The partitions of the entries of each kind, of all tenants. A refund adds and removes an entry in transactions, which
 * takes four write units: 32 partitions take 8,000 refunds a second, 16 would take 4,000. The number is a part of the key:
 * with another one, a sweep misses entries that exist.
 */
const pendingPartitions = 32

/** Returns the partitions of the entries of a kind of work. */
export function pendingPartitionsOf(work: PendingWork): string[] {
  return Array.from({ length: pendingPartitions }, (_, number) => `${work}#${number}`)
}

/**
 * Returns the key of an entry. Its partition follows from the id of the work, so it stays the same when the entry moves.
 * @param entry the sort key: the id of the work, or one that begins with the time at which it is due (`entryAt`)
 */
export function pendingKeyOf(work: PendingWork, entry: string): Key {
  return { pk: `${work}#${hashedOf(idOfEntry(entry), pendingPartitions)}`, sk: entry }
}

/** Returns the sort key of an entry that is due at a time, in milliseconds since 1970. */
export function entryAt(due: number, id: string): string {
  return `${timestamp(due)}#${id}`
}

/** Returns the id of the work of an entry. */
export function idOfEntry(entry: string): string {
  return entry.slice(entry.lastIndexOf('#') + 1)
}

/** Work that has failed for good. Each failure has an entry until the work expires, by which operators find it in any tenant. */
export type FailedWork = 'failed-operation' | 'failed-delivery'

/** The partitions of the entries of each kind, of all tenants: a failing endpoint adds an entry with each delivery. */
export const failurePartitions = 32

export function failurePartition(work: FailedWork, number: number): string {
  return `${work}#${number}`
}

/** Returns the partitions of the entries of a kind of failed work. */
export function failurePartitionsOf(work: FailedWork): string[] {
  return Array.from({ length: failurePartitions }, (_, number) => failurePartition(work, number))
}

/** Items of no entity, which are found by a name or a hash. */
type NamedItem =
  | 'idempotency'
  | 'rate'
  | 'otp'
  | 'mail'
  | 'once'
  | 'inbox'
  | 'batch'
  | 'import_chunk'
  | 'reconciled'
  /** Who has adopted a payout of the provider, by its account and id. */
  | 'payout'
  | 'account_owner'

/** Items of which there is one. Their partition key is their name. */
export const singleItems = [
  'blocked-tenants',
  'backlogged-tenants',
  'import_rate',
  'restored',
  'subscribed-tenants',
] as const

/** The first part of a partition key, by which functions get their permissions (`TableUse`). */
export type PartitionKind = Entity | PendingWork | FailedWork | NamedItem | (typeof singleItems)[number]

/** Returns the kind of a partition and its tenant, from the partition key. */
export function ownerOf(pk: string): { kind: string; tenant: string } {
  const [kind = '', tenant = ''] = pk.split('#')
  return { kind, tenant }
}

function partition(tenant: string, entity: Entity, number: number): string {
  return `${entity}#${tenant}#${number}`
}

function hashedOf(name: string, partitions: number): number {
  return createHash('sha256').update(name).digest().readUInt32BE() % partitions
}
