import type { StepContext } from '../platform/jobs/workflow.ts'
import type { Key } from '../platform/table/keys.ts'

/** How long a counter is kept, in seconds; it is used for one. */
const retentionSeconds = 3600
const maxJitterMilliseconds = 250

/** The counter of the write units that the imports of all tenants use in one second. */
export const paceKey = (second: number): Key => ({ pk: 'import_pace', sk: String(second) })

/**
 * Waits until the imports of all tenants together have used no more than `imports.writeUnitsPerSecond`, these units
 * included. The turn itself costs a unit. A write whose response was lost may count its units twice.
 * @throws DEPENDENCY.timeout if the turn does not come within the budget
 */
export async function takeTurn(
  units: number,
  { table, clock, budget, settings }: Pick<StepContext, 'table' | 'clock' | 'budget' | 'settings'>,
): Promise<void> {
  const limit = settings['imports.writeUnitsPerSecond']
  const taken = Math.min(units + 1, limit)
  for (;;) {
    const now = clock.now()
    const second = Math.floor(now / 1000)
    const isFull = await table.update({
      update: paceKey(second),
      set: { expires_at: second + retentionSeconds },
      add: { units: taken },
      condition: { absentOrBelow: { attribute: 'units', value: limit - taken + 1 } },
    })
    if (!isFull) return
    budget.check()
    await clock.sleep((second + 1) * 1000 - now + clock.jitter() * maxJitterMilliseconds)
  }
}
