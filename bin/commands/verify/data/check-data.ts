import { timestamp } from '#shared/platform/base/clock.ts'
import { type Item, ownerOf } from '#shared/platform/table/keys.ts'
import { restoredKey } from '#shared/platform/table/restored.ts'
import { cartPromise } from './carts.ts'
import { codePromise } from './codes.ts'
import type { Break, Fact, ItemPromise, Judging, SharedPromise, Subject, Violation } from './promise.ts'
import { payoutPromise, refundPromise } from './refunds.ts'
import { erasurePromise, idPromise, ownerPromise } from './tenants.ts'
import { countPromise, duePromise, entryPromise, rowsPromise, sagaPromise } from './work.ts'

/** The promises that stored data alone can answer. The simulator asks them of each schedule. */
const ofOneItem: readonly ItemPromise[] = [ownerPromise, cartPromise, rowsPromise]
const ofSeveral = [
  refundPromise,
  payoutPromise,
  codePromise,
  entryPromise,
  duePromise,
  sagaPromise,
  countPromise,
  idPromise,
  erasurePromise,
] as readonly SharedPromise[]

/** All items of a table, each once. It is read as often as the facts need. */
export type ReadItems = () => AsyncIterable<Item> | Iterable<Item>

/** The data to check. */
export interface Data {
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

/**
 * Yields each broken promise. If the facts of all subjects are too many, half of the subjects are left to another reading, and so
 * on: memory is bounded whatever the size of the table. Nothing is said about a tenant that is being purged.
 * @param options.most the facts that are kept at once
 */
export async function* checkData(
  { items, at, isWhole }: Data,
  options: { settings: Judging['settings']; most?: number; onRead?: (count: number) => void },
): AsyncGenerator<Violation> {
  const { settings, most = mostFacts, onRead = () => {} } = options
  const judging: Judging = { settings, at }
  const purged = new Set<string>()
  const settledUntil = isWhole ? undefined : timestamp(at - changingMilliseconds)
  const parts: Part[] = [{ rest: 0, of: 1 }]
  let found: Violation[] = []
  for (let isFirst = true, part = parts.pop(); part; isFirst = false, part = parts.pop()) {
    const books = ofSeveral.map(() => new Map<string, Fact[]>())
    let count = 0
    let kept = 0
    for await (const item of items()) {
      const { entity, tenant } = ownerOf(item.pk)
      if (Number(item.expires_at) * 1000 <= at) continue
      if (isFirst) {
        if (item.pk === restoredKey.pk) judging.restoredAt = Number(item.at)
        if (entity === 'purge') purged.add(tenant)
        const broken = reporting(found, { tenant, about: `${entity}/${item.sk}` })
        for (const promise of ofOneItem) promise(item, judging, broken)
        yield* found
        found = []
      }
      for (const [index, promise] of ofSeveral.entries())
        promise.facts(
          item,
          (...[ofTenant, about, fact]) => {
            const subject = `${ofTenant} ${about}`
            if (part && !isIn(part, subject)) return
            const book = books[index] as Map<string, Fact[]>
            const known = book.get(subject)
            if (known) known.push(fact)
            else book.set(subject, [fact])
            kept += 1
          },
          judging,
        )
      while (kept > most && part.of < mostParts) {
        part = { ...part, of: part.of * 2 }
        parts.push({ ...part, rest: part.rest + part.of / 2 })
        kept = leaveOthers(part, books)
      }
      count += 1
      onRead(count)
    }
    for (const [index, promise] of ofSeveral.entries())
      for (const [subject, facts] of books[index] ?? []) {
        const [tenant = '', about = ''] = subject.split(/ (.*)/s)
        const isChanging = facts.some(({ at: changed = '' }) => changed > (settledUntil ?? '~'))
        if (isChanging || purged.has(tenant)) continue
        promise.judge(facts, { tenant, about }, judging, reporting(found, { tenant, about }))
        yield* found
        found = []
      }
  }
}

function reporting(found: Violation[], subject: Subject): Break {
  return (promise, text) => found.push({ promise, ...subject, found: text })
}

/** Removes the subjects that are not in a part. @returns the number of facts that are left */
function leaveOthers(part: Part, books: readonly Map<string, Fact[]>[]): number {
  let left = 0
  for (const book of books)
    for (const [subject, facts] of book)
      if (isIn(part, subject)) left += facts.length
      else book.delete(subject)
  return left
}

function isIn({ rest, of }: Part, subject: string): boolean {
  return of === 1 || hashOf(subject) % of === rest
}

/** FNV-1a with the final mixing of MurmurHash: ids of one time differ in few characters. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  return (hash ^ (hash >>> 13)) >>> 0
}
