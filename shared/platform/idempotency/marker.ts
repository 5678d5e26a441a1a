import type { Correlation } from '../base/correlation.ts'
import type { Caller } from '../identity/caller.ts'
import type { Item, Key } from '../table/keys.ts'
import type { Change } from '../table/table.ts'
import type { KeyedRequest, Unfinished } from './record.ts'

/**
 * Marks an intent that the service can finish, from the transaction that commits it to the one that commits its
 * outcome. All markers share a partition, oldest first, so unfinished intents are found without a scan.
 */
export interface Marker extends Key {
  operation: string
  /** The key of its idempotency record. */
  record: Key
  payload_hash: string
  correlation_id: string
  /** The caller's tenant; absent from markers of release 0.1.0. */
  tenant?: string
}

/** The partition of all markers. One suffices: a marker exists only as long as its request. */
export const markers = 'unfinished'

/** The request of a marked intent. */
interface Marked {
  operation: string
  keyed: KeyedRequest
  correlation: Correlation
  caller: Caller | undefined
}

export function marking({ operation, keyed, correlation, caller }: Marked, { marker }: Unfinished): Change[] {
  if (marker === undefined) return []
  const item: Marker & Item = {
    ...keyOfMarker(marker),
    operation,
    record: keyed.key,
    payload_hash: keyed.payloadHash,
    correlation_id: correlation.id,
    ...(caller && { tenant: caller.tenant }),
  }
  return [{ item, condition: { absent: true } }]
}

export function unmarking({ marker }: Unfinished): Change[] {
  return marker === undefined ? [] : [unmark(marker)]
}

/** Removes a marker. Another process may have removed it already. */
export function unmark(marker: string): Change {
  return { remove: keyOfMarker(marker), condition: 'none' }
}

function keyOfMarker(marker: string): Key {
  return { pk: markers, sk: marker }
}
