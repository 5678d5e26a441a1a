import { createHash } from 'node:crypto'
import type { Clock } from '../clock.ts'
import { type Details, fail } from '../errors/failure.ts'
import type { Item, Key } from '../table/keys.ts'
import type { Condition, Table } from '../table/table.ts'

/** At most so many requests in any window of this length, wherever it begins. */
export interface RateLimit {
  limit: number
  windowSeconds: number
  /** What a refusal says beside its code. */
  details?: Details
}

/** Each round somebody was let in, so that a burst settles after as many rounds as the limit allows. */
const mostRounds = 60

/**
 * Counts a request, or refuses it: a true sliding window, kept as the times of those that were let in. Of a burst no
 * more are let in than the limit, as each is counted under the condition that nobody else was in between.
 * @param subject who is limited in what; only its hash is stored
 * @throws RATE_LIMIT.exceeded with the seconds after which one would be let in
 */
export async function countRequest(
  subject: readonly string[],
  { limit, windowSeconds, details = {} }: RateLimit,
  table: Table,
  clock: Clock,
): Promise<void> {
  const key = keyOf(subject)
  let known = await table.get(key)
  for (let round = 0; round < mostRounds; round += 1) {
    const now = clock.now()
    const recent = timesOf(known).filter((at) => at > now - windowSeconds * 1000)
    const first = recent.at(-limit)
    if (first !== undefined) {
      throw fail('RATE_LIMIT.exceeded', {
        retryAfterSeconds: Math.ceil((first + windowSeconds * 1000 - now) / 1000),
        details,
      })
    }
    const version = Number(known?.version ?? 0)
    const item = {
      ...key,
      times: [...recent, now],
      version: version + 1,
      expires_at: Math.ceil(now / 1000) + windowSeconds,
    }
    const condition: Condition = known ? { matches: { version } } : { absent: true }
    const refusal = await table.put({ item, condition })
    if (!refusal) return
    known = refusal.existing
  }
  throw fail('RATE_LIMIT.exceeded', { retryAfterSeconds: 1, details })
}

function timesOf(item: Item | undefined): number[] {
  return (item?.times ?? []) as number[]
}

function keyOf(subject: readonly string[]): Key {
  const hash = createHash('sha256').update(JSON.stringify(subject)).digest('base64url')
  return { pk: `rate#${hash}`, sk: 'window' }
}
