import type { WorkContext } from '../platform/request/context.ts'
import type { Key } from '../platform/table/keys.ts'
import type { Condition } from '../platform/table/table.ts'

/** The item that holds the time until which the write units of imports are reserved. */
export const writeRateKey: Key = { pk: 'import_rate', sk: 'reserved' }

/** A function waits no longer, because it is billed meanwhile and holds a slot. */
export const maxWaitMilliseconds = 10_000
const maxPauseMilliseconds = 100

/**
 * Reserves the time in which a chunk writes, and waits for it. Reserved times follow each other, so the imports of all
 * tenants together write `imports.writeUnitsPerSecond`. The reservation itself costs a unit. If the response to a
 * reservation is lost, its time is reserved twice.
 * @returns false, with nothing reserved, if the time is more than `maxWaitMilliseconds` away
 * @throws DEPENDENCY.timeout if the budget ends first
 */
export async function waitForWrites(
  units: number,
  { table, clock, budget, settings }: Pick<WorkContext, 'table' | 'clock' | 'budget' | 'settings'>,
): Promise<boolean> {
  const milliseconds = Math.ceil(((units + 1) * 1000) / settings['imports.writeUnitsPerSecond'])
  let reserved = await table.get(writeRateKey)
  for (;;) {
    const now = clock.now()
    const start = Math.max(now, Number(reserved?.until ?? 0))
    if (start - now > maxWaitMilliseconds) return false
    const condition: Condition = reserved ? { matches: { until: Number(reserved.until) } } : { absent: true }
    const refusal = await table.put({ item: { ...writeRateKey, until: start + milliseconds }, condition })
    if (!refusal) {
      await clock.sleep(start - now)
      return true
    }
    budget.check()
    await clock.sleep(clock.jitter() * maxPauseMilliseconds)
    // Other chunks may have reserved during the pause.
    reserved = await table.get(writeRateKey)
  }
}
