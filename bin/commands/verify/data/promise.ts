import { isId, timeOf, timestamp } from '#shared/platform/base/clock.ts'
import { type Item, ownerOf, type PartitionKind } from '#shared/platform/table/keys.ts'
import type { Settings } from '#shared/settings/register.ts'

/** A promise of the service that stored data breaks. It holds ids, states and amounts, and no personal data. */
export interface Violation {
  /** The promise. */
  promise: string
  /** Empty for an item of no tenant. */
  tenant: string
  /** The broken item: `refund/…`. */
  about: string
  /** What is stored, and what it should be. */
  found: string
}

/** What a table is judged by. */
export interface Judging {
  settings: Settings
  /** The time of the data, in milliseconds since 1970. */
  at: number
  /** When the table went back to an earlier time, in milliseconds since 1970. Its audit then tells of changes that are undone. */
  restoredAt?: number
  /** The tenants that have subscribers, as far as relays know; absent if they know nothing. */
  subscribedTenants?: ReadonlySet<string>
}

/** What is stated about a subject. */
export interface Fact {
  /** The last change of the item that states it, as RFC 3339, if the item has it. */
  at?: string
}

/** The subject of facts: an item, or a name. */
export interface Subject {
  tenant: string
  about: string
}

/** Reports a broken promise. */
export type Break = (promise: string, found: string) => void

/** What one item must be. */
export type ItemPromise = (item: Item, judging: Judging, broken: Break) => void

/**
 * What several items must be together. Items are read once, in any order, so each states facts about subjects. A subject is
 * judged once all of its facts are known.
 */
export interface SharedPromise<Stated extends Fact = Fact> {
  facts(
    item: Item,
    state: (tenant: string, about: string, fact: Stated) => void,
    judging: Pick<Judging, 'at'>,
  ): void
  judge(facts: readonly Stated[], subject: Subject, judging: Judging, broken: Break): void
}

/** Returns the time in the id of what has just been made, for facts of an item that holds no other time. */
export function madeAt(id: string): Pick<Fact, 'at'> {
  return isId(id) ? { at: timestamp(timeOf(id)) } : {}
}

/** Returns the entity of an item, and its tenant if it has one. It is typed, so no check asks for an entity that does not exist. */
export function typedOwnerOf({ pk }: Pick<Item, 'pk'>): { entity: PartitionKind | 'purge'; tenant: string } {
  return ownerOf(pk) as { entity: PartitionKind | 'purge'; tenant: string }
}
