import { type Clock, newId } from '../clock.ts'
import type { Condition } from '../table/table.ts'
import type { Lease } from './record.ts'

/** Longer than any request, so an expired lease belongs to a crashed one; in milliseconds. */
const leaseMilliseconds = 30_000

export function newLease({ clock }: { clock: Clock }): Lease {
  return { lease_id: newId(clock), lease_until: clock.now() + leaseMilliseconds }
}

/** The condition that a record is still pending under this lease. */
export function heldBy({ lease_id }: Lease): Condition {
  return { matches: { state: 'pending', lease_id } }
}

/** The condition that there is no record, or an expired one. */
export function isNew({ clock }: { clock: Clock }): Condition {
  return { absentOrExpiredBy: Math.floor(clock.now() / 1000) }
}
