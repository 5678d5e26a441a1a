import { type Clock, newId } from '../clock.ts'
import type { Condition } from '../table/table.ts'
import type { Lease } from './record.ts'

/** Longer than any request takes, so that a lease that ran out belongs to one that crashed; in milliseconds. */
const leaseMilliseconds = 30_000

export function newLease({ clock }: { clock: Clock }): Lease {
  return { lease_id: newId(clock), lease_until: clock.now() + leaseMilliseconds }
}

/** That a record is still pending under this very lease. */
export function heldBy({ lease_id }: Lease): Condition {
  return { matches: { state: 'pending', lease_id } }
}

/** That there is no record, or one that has expired. */
export function isNew({ clock }: { clock: Clock }): Condition {
  return { absentOrExpiredBy: Math.floor(clock.now() / 1000) }
}
