import { derivedIdAt, shardOf } from '../base/clock.ts'
import { type FailedWork, failurePartition, failurePartitions, type Item } from './keys.ts'
import type { Put } from './table.ts'

/** The entry of work that has failed, by which operators find it without its tenant. Its sort key has the time of the failure. */
export interface FailureEntry extends Item {
  tenant: string
  /** The id of the work. It may have been tried again since, so the work says whether it has failed. */
  work: string
  /** That of the work, in seconds since 1970. */
  expires_at: number
}

/** Returns the write of an entry. @param at the time of the failure, in milliseconds since 1970 */
export function failurePut(
  kind: FailedWork,
  { tenant, work, expires_at }: Pick<FailureEntry, 'tenant' | 'work' | 'expires_at'>,
  at: number,
): Put {
  const sk = derivedIdAt(at, work, failurePartitions)
  const item: FailureEntry = { pk: failurePartition(kind, shardOf(sk)), sk, tenant, work, expires_at }
  return { item, condition: 'none' }
}
