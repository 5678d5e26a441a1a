import type { ErrorCode } from '../error-catalog.ts'
import { locate } from '../platform/identity/authorize.ts'
import type { RequestContext } from '../platform/request/context.ts'
import { type Item, type Key, keyOf } from '../platform/table/keys.ts'
import { create, remove, replace, type Table, type Write } from '../platform/table/table.ts'
import type { Settings } from '../settings/register.ts'
import type { Refund } from './refund.ts'
import type { RefundStatus } from './refund-states.ts'

/** A ledger entry: the payout of a refund, or its reversal. The ledger only grows. */
export interface LedgerEntry {
  refund_id: string
  /** The provider's account with the charge. */
  account: string
  charge_id: string
  kind: 'payout' | 'reversal'
  /** In minor units; negative for a reversal. */
  amount: number
  /** Absent, like the next one, only until the provider was asked. */
  currency?: string
  provider_refund_id?: string
  at: string
}

export function asRefund(item: Item): Refund {
  return item as unknown as Refund
}

/** @throws NOT_FOUND.refund, also for a refund of another tenant */
export async function readRefund(
  context: Pick<RequestContext, 'table' | 'scope' | 'settings' | 'isBlocked'>,
  id: string,
): Promise<Refund> {
  return asRefund(await locate(context, 'refund', id, 'NOT_FOUND.refund'))
}

export async function findRefund(table: Table, tenant: string, id: string): Promise<Refund | undefined> {
  const item = await table.get(keyOf(tenant, 'refund', id))
  return item && asRefund(item)
}

/** Writes a refund that has none of its id before it. */
export function createdRefund(refund: Refund, onFailure?: ErrorCode): Write {
  return create({ ...keyOf(refund.tenant_id, 'refund', refund.id), ...refund }, onFailure)
}

/** Writes a refund, and its lock on the charge if a charge may be refunded only once. */
export function startWrites(refund: Refund, settings: Settings): Write[] {
  if (settings['refunds.policy'] === 'within_charge') return [createdRefund(refund)]
  return [createdRefund(refund), create(newChargeLock(refund), 'POLICY.refund.repeated')]
}

/** Replaces a refund if it has not changed since it was read. */
export function replacedRefund(before: Refund, after: Refund): Write {
  const item = { ...keyOf(after.tenant_id, 'refund', after.id), ...after }
  return replace(item, { version: before.version }, 'TRANSIENT.error')
}

/** The ledger entries of a refund in each status. */
const ledgerKinds: Record<RefundStatus, readonly LedgerEntry['kind'][]> = {
  pending: [],
  failed: [],
  succeeded: ['payout'],
  reversed: ['payout', 'reversal'],
}

/**
 * Writes the ledger entries that a change of a refund adds. Entries that exist never change, but for the provider's facts
 * if the refund gets them now.
 */
export function ledgerWrites(before: Refund, after: Refund): Write[] {
  const { currency, provider_refund_id } = after
  const facts = { ...(currency && { currency }), ...(provider_refund_id && { provider_refund_id }) }
  const isLearned = before.currency !== currency || before.provider_refund_id !== provider_refund_id
  return ledgerKinds[after.status].flatMap((kind): Write[] => {
    const key = ledgerKey(after, kind)
    if (ledgerKinds[before.status].includes(kind)) {
      const condition = { matches: { refund_id: after.id } }
      return isLearned ? [{ update: key, set: facts, condition, onFailure: 'TRANSIENT.error' }] : []
    }
    const entry: LedgerEntry = {
      refund_id: after.id,
      account: after.account,
      charge_id: after.charge_id,
      kind,
      amount: kind === 'reversal' ? -after.amount : after.amount,
      ...facts,
      at: after.updated_at,
    }
    return [create({ ...key, ...entry }, 'TRANSIENT.error')]
  })
}

/** The lock on a charge that may be refunded only once. */
interface ChargeLock extends Item {
  /** The refund that has locked the charge. */
  refund_id: string
  /**
   * Refunds that were paid late, or adopted, while another one had locked the charge. Once that one fails or is reversed, the
   * first of them has the lock.
   */
  also_held_by?: readonly string[]
  /** The change of a refund that wrote the lock. No two changes are equal, so it detects concurrent ones. */
  changed_by: string
}

/**
 * Writes the lock on a charge that a change of its refund requires: a refund that failed or was reversed no longer holds the
 * lock, and one that is paid or adopted does if a charge may be refunded only once. The lock is removed once no refund holds it.
 * A lock of an earlier policy is released, too.
 */
export async function chargeLockWrites(
  refund: Refund,
  { table, settings }: { table: Table; settings: Settings },
): Promise<Write[]> {
  const isHolder = refund.status === 'succeeded' || refund.status === 'pending'
  if (isHolder && settings['refunds.policy'] === 'within_charge') return []
  const key = chargeLockKey(refund)
  const lock = (await table.get(key)) as ChargeLock | undefined
  if (!lock) return isHolder ? [create(newChargeLock(refund), 'TRANSIENT.error')] : []
  const { refund_id, also_held_by = [], changed_by } = lock
  const before = [refund_id, ...also_held_by]
  const after = isHolder ? [...new Set([...before, refund.id])] : before.filter((one) => one !== refund.id)
  if (after.length === before.length) return []
  const [holder, ...others] = after
  if (holder === undefined) return [remove(key, { changed_by }, 'TRANSIENT.error')]
  const item = { ...lock, ...newChargeLock(refund), refund_id: holder, also_held_by: others }
  return [replace(item, { changed_by }, 'TRANSIENT.error')]
}

/** Returns the refunds that have locked a charge. */
export async function lockHoldersOf(refund: Refund, table: Table): Promise<string[]> {
  const lock = (await table.get(chargeLockKey(refund))) as ChargeLock | undefined
  return lock ? [lock.refund_id, ...(lock.also_held_by ?? [])] : []
}

function newChargeLock(refund: Refund): ChargeLock {
  const { id, version } = refund
  return { ...chargeLockKey(refund), refund_id: id, changed_by: `${id}#${version}` }
}

/** A refund has one entry of each kind, next to each other. */
function ledgerKey({ tenant_id, id }: Refund, kind: LedgerEntry['kind']): Key {
  return { ...keyOf(tenant_id, 'ledger', id), sk: `${id}#${kind}` }
}

function chargeLockKey({ tenant_id, charge_id }: Refund) {
  return keyOf(tenant_id, 'charge_lock', charge_id)
}
