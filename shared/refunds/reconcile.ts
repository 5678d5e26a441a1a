import { type Budget, firstIdAt, isId, lastIdAt, timeOf } from '../platform/base/clock.ts'
import { readAll } from '../platform/listing/merge.ts'
import { type Item, keyOf, partitionsOf } from '../platform/table/keys.ts'
import type { Table } from '../platform/table/table.ts'
import {
  differenceOf,
  type Finding,
  findingOf,
  isFurtherPayout,
  netOf,
  type RefundLedger,
} from './difference.ts'
import type { ProviderRefund, ProviderRefunds } from './provider-refunds.ts'
import { findRefund, type LedgerEntry } from './refund-store.ts'

/** The refunds of an account in a time range: those that the provider created in it, and those that only the ledger has. */
interface ReconcileRange {
  tenant: string
  /** An account of the tenant at the provider. */
  account: string
  /** Milliseconds since 1970, inclusive. */
  from: number
  /** Milliseconds since 1970, exclusive. */
  to: number
}

/** The sums of one currency, in minor units. */
export interface CurrencyTotal {
  currency: string
  /** What the provider paid and did not take back. */
  provider: number
  ledger: number
}

/** The result of a part of a range. */
export interface ReconciledPart {
  /** The part starts here, in milliseconds since 1970; the rest of the range is before it. */
  from: number
  /** The number of refunds that were compared. */
  compared: number
  differences: Finding[]
  /** Payouts that the service did not request. They are no differences. */
  unrelated: Finding[]
  totals: CurrencyTotal[]
}

export interface Sources {
  table: Table
  providerRefunds: ProviderRefunds
  budget: Budget
}

/** One refund on both sides. */
interface Pair {
  providerRefund: ProviderRefund | undefined
  ledger: RefundLedger
}

/** The number of entries of each side after which a part ends. It bounds the memory and the look-ups of a part. */
const partSize = 300
const concurrentLookUps = 5

/** Compares a range part by part, newest first. Each part is complete, so the comparison can continue after it. */
export async function* reconcile(range: ReconcileRange, sources: Sources): AsyncGenerator<ReconciledPart> {
  for (let { to } = range; to > range.from; ) {
    const part = await reconcilePart({ ...range, to }, sources)
    yield part
    to = part.from
  }
}

/**
 * Compares the newest part of a range. The provider creates a refund some time after the service does, and either side
 * may change while the other is read. So both sides of a refund that seems to differ are read again by its ids, and the
 * borders of a range need no margin.
 */
async function reconcilePart(range: ReconcileRange, sources: Sources): Promise<ReconciledPart> {
  const listed = await newest(
    sources.providerRefunds.list(range, sources.budget),
    ({ createdAt }) => createdAt,
  )
  const { from: listedFrom = range.from } = listed
  const booked = await newest(ledgerEntries(sources.table, { ...range, from: listedFrom }), timeOfEntry)
  const { from = listedFrom } = booked
  const providerRefunds = listed.taken.filter(({ createdAt }) => createdAt >= from)
  const own = providerRefunds.filter(({ refundId }) => refundId !== undefined && isId(refundId))
  const entries = Map.groupBy(booked.taken, ({ refund_id }) => refund_id)
  const listedIds = new Map(own.map(({ id, refundId }) => [id, refundId]))
  const listedRefunds = new Set(listedIds.values())
  // An entry whose payout names another refund is not listed: one payout would be counted for two refunds.
  const isListed = ({ refund_id, provider_refund_id: id }: LedgerEntry) =>
    id === undefined ? listedRefunds.has(refund_id) : listedIds.get(id) === refund_id
  const unlisted = booked.taken.filter((entry) => entry.kind === 'payout' && !isListed(entry))
  const pairs = await inBatches([
    ...own.map((providerRefund) => () => pairOfListed(providerRefund, entries, { range, sources })),
    ...unlisted.map((payout) => () => pairOfPayout(payout, { range: { ...range, from }, sources })),
  ])
  const compared = pairs.filter((pair) => pair !== undefined)
  return {
    from,
    compared: compared.length,
    differences: compared.flatMap(({ providerRefund, ledger }) => {
      const difference = differenceOf(providerRefund, ledger)
      return difference ? [findingOf(difference, providerRefund, ledger)] : []
    }),
    unrelated: providerRefunds
      .filter((providerRefund) => !own.includes(providerRefund) && providerRefund.status !== 'failed')
      .map((providerRefund) => findingOf('unrelated', providerRefund, { entries: [] })),
    totals: totalsOf(compared),
  }
}

interface Place {
  range: ReconcileRange
  sources: Sources
}

/** Returns both sides of a refund of the provider. */
async function pairOfListed(
  providerRefund: ProviderRefund,
  known: ReadonlyMap<string, readonly LedgerEntry[]>,
  { range, sources }: Place,
): Promise<Pair> {
  const { id, chargeId, refundId = '' } = providerRefund
  const entries = known.get(refundId)
  if (entries && !differenceOf(providerRefund, { entries })) return { providerRefund, ledger: { entries } }
  const ledger = await ledgerOf(sources.table, range.tenant, refundId)
  if (!differenceOf(providerRefund, ledger)) return { providerRefund, ledger }
  const { account } = range
  return {
    providerRefund: await sources.providerRefunds.find({ account, id, chargeId, refundId }, sources.budget),
    ledger,
  }
}

/** Returns both sides of a payout that the provider did not list; undefined if the provider lists it in another range. */
async function pairOfPayout(
  { refund_id: refundId, charge_id: chargeId, provider_refund_id: id }: LedgerEntry,
  { range, sources }: Place,
): Promise<Pair | undefined> {
  const { tenant, account, from, to } = range
  const ledger = await ledgerOf(sources.table, tenant, refundId)
  const providerRefund = await sources.providerRefunds.find(
    { account, id, chargeId, refundId },
    sources.budget,
  )
  const isListed = providerRefund?.refundId === refundId
  if (isListed && (providerRefund.createdAt < from || providerRefund.createdAt >= to)) return undefined
  return { providerRefund, ledger }
}

async function ledgerOf(table: Table, tenant: string, id: string): Promise<RefundLedger> {
  const { pk: partition } = keyOf(tenant, 'ledger', id)
  const range = { partition, low: id, high: `${id}~`, descending: false, limit: 10 }
  const [refund, { items }] = await Promise.all([findRefund(table, tenant, id), table.readRange(range)])
  return { refund, entries: items.map(asEntry) }
}

/** Yields the ledger entries of the refunds of an account that were created in a range, newest first. */
async function* ledgerEntries(
  table: Table,
  { tenant, account, from, to }: ReconcileRange,
): AsyncGenerator<LedgerEntry> {
  const partitions = partitionsOf(tenant, 'ledger')
  const ids = { low: firstIdAt(from), high: `${lastIdAt(to - 1)}~` }
  for await (const items of readAll(table, partitions, { ...ids, descending: true, atOnce: partSize }))
    yield* items.map(asEntry).filter((entry) => entry.account === account)
}

function asEntry(item: Item): LedgerEntry {
  return item as unknown as LedgerEntry
}

/** Returns the time of a refund in whole seconds, like those of the provider, in milliseconds since 1970. */
function timeOfEntry({ refund_id }: Pick<LedgerEntry, 'refund_id'>): number {
  return Math.floor(timeOf(refund_id) / 1000) * 1000
}

/**
 * Takes the newest entries of a part, and all others of the time of the last one.
 * @returns also that time, in milliseconds since 1970; undefined if these are all entries
 */
async function newest<T>(
  entries: AsyncIterable<T>,
  timeOf: (entry: T) => number,
): Promise<{ taken: T[]; from?: number }> {
  const taken: T[] = []
  let from = Number.POSITIVE_INFINITY
  for await (const entry of entries) {
    if (taken.length >= partSize && timeOf(entry) < from) return { taken, from }
    from = timeOf(entry)
    taken.push(entry)
  }
  return { taken }
}

/** Does a few look-ups at a time. */
async function inBatches<T>(lookUps: readonly (() => Promise<T>)[]): Promise<T[]> {
  const found: T[] = []
  for (let start = 0; start < lookUps.length; start += concurrentLookUps) {
    const batch = lookUps.slice(start, start + concurrentLookUps)
    found.push(...(await Promise.all(batch.map((lookUp) => lookUp()))))
  }
  return found
}

function totalsOf(pairs: readonly Pair[]): CurrencyTotal[] {
  const totals = new Map<string, CurrencyTotal>()
  const totalOf = (currency: string) => {
    const total = totals.get(currency) ?? { currency, provider: 0, ledger: 0 }
    totals.set(currency, total)
    return total
  }
  for (const { providerRefund, ledger } of pairs) {
    const [entry] = ledger.entries
    if (providerRefund?.status === 'succeeded' && !isOfAnother(providerRefund, entry))
      totalOf(providerRefund.currency).provider += providerRefund.amount
    // The ledger's entries belong to its own payout.
    if (providerRefund && isFurtherPayout(providerRefund, ledger)) continue
    if (entry) totalOf(entry.currency ?? 'unknown').ledger += netOf(ledger.entries)
  }
  return [...totals.values()]
}

/** Returns whether the payout of an entry names another refund, in whose pair it is counted. */
function isOfAnother({ refundId }: ProviderRefund, entry: LedgerEntry | undefined): boolean {
  return entry !== undefined && refundId !== undefined && isId(refundId) && refundId !== entry.refund_id
}
