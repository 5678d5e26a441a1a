import { timestamp } from '#shared/platform/base/clock.ts'
import type { Item } from '#shared/platform/table/keys.ts'
import { restoredKey } from '#shared/platform/table/restored.ts'
import type { Settings } from '#shared/settings/register.ts'
import { subscribedTenantsKey } from '#shared/subscribers/subscribed-tenants.ts'
import { cartPromise } from './carts.ts'
import { codePromise } from './codes.ts'
import { orderPromise } from './orders.ts'
import {
  type Break,
  type Fact,
  type ItemPromise,
  type Judging,
  type SharedPromise,
  type Subject,
  typedOwnerOf,
  type Violation,
} from './promise.ts'
import { payoutPromise, refundPromise } from './refunds.ts'
import { erasurePromise, idPromise, ownerPromise, subscribedPromise } from './tenants.ts'
import { countPromise, duePromise, entryPromise, rowsPromise, sagaPromise } from './work.ts'

/** The promises that stored data alone can answer. The simulator asks them of each schedule. */
const ofOneItem: readonly ItemPromise[] = [ownerPromise, cartPromise, rowsPromise]
const ofSeveral = [
  orderPromise,
  refundPromise,
  payoutPromise,
  codePromise,
  entryPromise,
  duePromise,
  sagaPromise,
  countPromise,
  idPromise,
  erasurePromise,
  subscribedPromise,
] as readonly SharedPromise[]

/** All items of a table, each once. It is read as often as the facts need. */
type ReadItems = () => AsyncIterable<Item> | Iterable<Item>

/** The data to check. */
export interface CheckedData {
  items: ReadItems
  /** Milliseconds since 1970. */
  at: number
  /**
   * Whether each transaction is in it as a whole, or not at all. Otherwise nothing is said about what has changed just before.
   */
  isWhole: boolean
}

/**
 * An export may have some changes of a transaction that is propagated just then, and lack others. Usually they are less than a second
 * apart; clocks differ, and a transaction takes its time.
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html
 */
const changingMilliseconds = 10_000

/**
 * The facts that are kept at once: 0.8 GB. A million items of refunds, codes and orders have 1.5 million. A process of Node may use
 * 2 GB, or 4 GB on a machine with 16 GB.
 */
const mostFacts = 2_000_000

/** Facts about one subject cannot be parted. There are never so many of one. */
const mostParts = 2 ** 20

/** A part of all subjects, by their hashes. */
interface Part {
  rest: number
  /** A power of 2. */
  of: number
}

/** The facts of a part of all subjects. Once they are too many, half of its subjects are left to another part. */
class Facts {
  /** The facts of each promise, by subject. */
  readonly ofPromises = ofSeveral.map(() => new Map<string, Fact[]>())
  #part: Part
  readonly #most: number
  readonly #leave: (part: Part) => void
  #kept = 0

  constructor(part: Part, most: number, leave: (part: Part) => void) {
    this.#part = part
    this.#most = most
    this.#leave = leave
  }

  add(promise: number, subject: string, fact: Fact): void {
    if (!this.#has(subject)) return
    const facts = this.ofPromises[promise] as Map<string, Fact[]>
    const known = facts.get(subject)
    if (known) known.push(fact)
    else facts.set(subject, [fact])
    this.#kept += 1
    while (this.#kept > this.#most && this.#part.of < mostParts) this.#leaveHalf()
  }

  #has(subject: string): boolean {
    const { rest, of } = this.#part
    return of === 1 || hashOf(subject) % of === rest
  }

  #leaveHalf(): void {
    const { rest, of } = this.#part
    this.#part = { rest, of: of * 2 }
    this.#leave({ rest: rest + of, of: of * 2 })
    this.#kept = 0
    for (const facts of this.ofPromises)
      for (const [subject, { length }] of facts)
        if (this.#has(subject)) this.#kept += length
        else facts.delete(subject)
  }
}

/**
 * Yields each broken promise. If the facts of all subjects are too many, the items are read again for the others: memory is bounded
 * whatever the size of the table. Nothing is said about a tenant that is being purged.
 * @param options.most the facts that are kept at once
 * @param options.onRead receives how many items were read so far, in each reading
 */
export async function* checkData(
  { items, at, isWhole }: CheckedData,
  options: { settings: Settings; most?: number; onRead?: (count: number) => void },
): AsyncGenerator<Violation> {
  const { settings, most = mostFacts, onRead = () => {} } = options
  const judging: Judging = { settings, at }
  const settledUntil = isWhole ? undefined : timestamp(at - changingMilliseconds)
  const purged = new Set<string>()
  const parts: Part[] = [{ rest: 0, of: 1 }]
  for (let isFirst = true, part = parts.pop(); part; isFirst = false, part = parts.pop()) {
    const facts = new Facts(part, most, (other) => parts.push(other))
    let count = 0
    for await (const item of items()) {
      count += 1
      onRead(count)
      const { entity, tenant } = typedOwnerOf(item)
      if (Number(item.expires_at) * 1000 <= at) continue
      if (item.pk === restoredKey.pk) judging.restoredAt = Number(item.at)
      if (item.pk === subscribedTenantsKey.pk && Array.isArray(item.tenants))
        judging.subscribedTenants = new Set(item.tenants)
      if (entity === 'purge') purged.add(tenant)
      const subject = { tenant, about: `${entity}/${item.sk}` }
      if (isFirst)
        for (const promise of ofOneItem)
          yield* violationsOf(subject, (broken) => promise(item, judging, broken))
      // What cannot be read is reported once.
      const unread = violationsOf(subject, () => {
        for (const [index, promise] of ofSeveral.entries())
          promise.facts(item, (of, about, fact) => facts.add(index, `${of} ${about}`, fact), judging)
      })
      if (isFirst) yield* unread
    }
    for (const [index, promise] of ofSeveral.entries())
      for (const [subject, known] of facts.ofPromises[index] ?? []) {
        const [tenant = '', about = ''] = subject.split(/ (.*)/s)
        const isChanging = settledUntil !== undefined && known.some((one) => (one.at ?? '') > settledUntil)
        if (!isChanging && !purged.has(tenant))
          yield* violationsOf({ tenant, about }, (broken) =>
            promise.judge(known, { tenant, about }, judging, broken),
          )
      }
  }
}

/** Returns what a check of a subject finds. Damaged data may have any form: what cannot be read is a violation, too. */
function violationsOf(subject: Subject, check: (broken: Break) => void): Violation[] {
  const found: Violation[] = []
  const broken: Break = (promise, text) => found.push({ promise, ...subject, found: text })
  try {
    check(broken)
  } catch (thrown) {
    // The message may quote what is stored.
    broken('items have their form', `it cannot be read: ${(thrown as Error).name}`)
  }
  return found
}

/** FNV-1a with the final mixing of MurmurHash: ids of one time differ in few characters. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  return (hash ^ (hash >>> 13)) >>> 0
}
