import { minuteMilliseconds, timeOf } from '../platform/base/clock.ts'
import { entryAt, type Key, keyOf, pendingKeyOf } from '../platform/table/keys.ts'
import { laterEntry, type Pauses } from '../platform/table/pending-entries.ts'
import { put, type Write } from '../platform/table/table.ts'
import type { Settings } from '../settings/register.ts'
import type { Refund } from './refund.ts'

/**
 * Returns whether only the provider can complete a refund: one that it accepted and has not settled, or one that an event
 * settled without the provider's facts. A pending refund that it has not accepted has its saga.
 */
export function isUnsettled({ status, provider_refund_id, currency }: Refund): boolean {
  if (status === 'pending') return provider_refund_id !== undefined
  return status !== 'failed' && (provider_refund_id === undefined || currency === undefined)
}

/** Returns a refund after a change, with the sort key of its entry as long as it is unsettled. */
export function withUnsettledEntry({ unsettled_entry, ...refund }: Refund, settings: Settings): Refund {
  if (!isUnsettled(refund)) return refund
  const first = timeOf(refund.id) + settings['refunds.pendingMinutes'] * minuteMilliseconds
  return { ...refund, unsettled_entry: unsettled_entry ?? entryAt(first, refund.id) }
}

/** Writes the entry of a refund that becomes unsettled, or removes that of one that is settled. */
export function unsettledEntryWrites(before: Refund, after: Refund): Write[] {
  const { unsettled_entry: old } = before
  const { unsettled_entry: current, tenant_id: tenant } = after
  if (old === current) return []
  const removed = old === undefined ? [] : [removeUnsettledEntry(pendingKeyOf('unsettled-refund', old))]
  return current === undefined
    ? removed
    : [put({ ...pendingKeyOf('unsettled-refund', current), tenant }), ...removed]
}

/** Writes the time of the next question about a refund that stays unsettled. */
export function nextQuestion(refund: Refund, now: number, pauses: Pauses): Write[] {
  const { unsettled_entry, tenant_id, id, version } = refund
  if (unsettled_entry === undefined) return []
  const after = { ...refund, unsettled_entry: laterEntry(unsettled_entry, now, pauses) }
  const update = keyOf(tenant_id, 'refund', id)
  const set = { unsettled_entry: after.unsettled_entry, version: version + 1 }
  return [
    { update, set, condition: { matches: { version } }, onFailure: 'TRANSIENT.error' },
    ...unsettledEntryWrites(refund, after),
  ]
}

/** Removes an entry. Another process may have removed it already. */
export function removeUnsettledEntry({ pk, sk }: Key): Write {
  return { remove: { pk, sk }, condition: 'none', onFailure: 'INTERNAL.unexpected' }
}
