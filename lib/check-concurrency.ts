import { importSteps } from '#shared/imports/import-steps.ts'
import { fileLimits } from '#shared/imports/split-file.ts'
import { ProfileError } from '#shared/settings/read-profile.ts'
import type { Settings } from '#shared/settings/register.ts'
import type { Stage } from './stage.ts'

/** AWS Lambda keeps this part of an account's quota for functions without a reservation. */
const unreserved = 100

/** Of the slots of an import step, the imports of one tenant hold one of so many at most. */
const tenantDivisor = 4

/**
 * Rejects a profile whose quota cannot hold the reservations of the stage, or that lets one tenant's imports hold more
 * than a quarter of the slots of a step, or whose pace of imports is too slow for them.
 * @throws ProfileError that names every such setting at once
 */
export function checkConcurrency({ name, concurrency }: Stage, settings: Settings, source: string): void {
  if (!concurrency) return
  const quota = settings['limits.concurrency']
  const reserved = Object.values(concurrency).reduce((sum, slots) => sum + slots, 0)
  const imports = settings['imports.inProgressPerTenant']
  const chunks = settings['imports.chunksAtOnce']
  const held = {
    'imports.prepare': { slots: imports, key: 'imports.inProgressPerTenant' },
    'imports.complete': { slots: imports, key: 'imports.inProgressPerTenant' },
    'imports.rows': { slots: imports * chunks, key: 'imports.inProgressPerTenant × imports.chunksAtOnce' },
  }
  const problems = [
    ...(reserved + unreserved > quota
      ? [
          `limits.concurrency: ${quota} is too small. Stage ${name} reserves ${reserved} concurrent executions, and AWS keeps ${unreserved} for functions without a reservation: ask for a quota of at least ${reserved + unreserved}`,
        ]
      : []),
    ...Object.entries(held).flatMap(([step, { slots, key }]) => {
      const all = concurrency[step] ?? 0
      const most = Math.floor(all / tenantDivisor)
      return slots > most
        ? [`${key}: one tenant could hold ${slots} of the ${all} slots of ${step}: choose at most ${most}`]
        : []
    }),
    ...paceProblems(concurrency['imports.rows'] ?? 0, settings),
  ]
  if (problems.length === 0) return
  const lines = problems.map((problem) => `  ${problem}`)
  throw new ProfileError(`${source}: ${problems.length} setting(s) to fix:\n${lines.join('\n')}`)
}

/** Checks the pace of imports for rows of one write unit, with half of the time of a step in reserve. */
function paceProblems(slots: number, settings: Settings): string[] {
  const key = 'imports.writeUnitsPerSecond'
  const units = settings[key]
  const least = Math.ceil((slots * fileLimits(settings).chunk.rows) / (importSteps.rows.seconds / 2))
  const reason = `${units} is too slow for the ${slots} slots of imports.rows`
  return units < least ? [`${key}: ${reason}: choose at least ${least}`] : []
}
