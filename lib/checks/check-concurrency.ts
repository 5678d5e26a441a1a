import { chunksAtOnce } from '#shared/imports/import.ts'
import { importTimeoutSeconds } from '#shared/operations/end-abandoned.ts'
import { ProfileError } from '#shared/settings/read-profile.ts'
import type { Settings } from '#shared/settings/register.ts'
import { provisionedExecutions, takenExecutions } from '../functions/provisioned-concurrency.ts'
import { reservedConcurrency, type Stage } from '../stage.ts'

/** AWS Lambda keeps this part of an account's quota for functions without a reservation. */
export const minUnreserved = 100

/** Of the slots of an import step, the imports of one tenant hold one of so many at most. */
const tenantDivisor = 4

/**
 * Rejects a profile whose quota cannot hold the reserved and the provisioned concurrency of the stage, that provisions
 * more than is reserved, that lets one tenant's imports hold more than a quarter of the slots of a step, or whose imports
 * could not end in their time.
 * @throws ProfileError that names every such setting at once
 */
export function checkConcurrency(stage: Stage, settings: Settings, source: string): void {
  if (!stage.onAws) return
  const problems = [
    ...quotaProblems(stage, settings),
    ...provisionedProblems(stage, settings),
    ...importProblems(stage, settings),
  ]
  if (problems.length === 0) return
  const lines = problems.map((problem) => `  ${problem}`)
  throw new ProfileError(`${source}: ${problems.length} problem(s) to fix:\n${lines.join('\n')}`)
}

function quotaProblems(stage: Stage, settings: Settings): string[] {
  const quota = settings['limits.concurrency']
  const { reserved, provisioned } = takenExecutions(stage, settings)
  const least = reserved + provisioned + minUnreserved
  if (reserved + provisioned === 0 || least <= quota) return []
  const taken = [
    ...(reserved > 0 ? [`reserves ${reserved} concurrent executions`] : []),
    ...(provisioned > 0 ? [`provisions ${provisioned} for functions without a reservation`] : []),
  ]
  return [
    `limits.concurrency: ${quota} is too small. Stage ${stage.name} ${taken.join(' and ')}, and AWS keeps ${minUnreserved} for functions without a reservation: ask for a quota of at least ${least}`,
  ]
}

function provisionedProblems(stage: Stage, settings: Settings): string[] {
  const concurrency = reservedConcurrency(stage, settings) ?? {}
  const key = 'limits.provisionedConcurrency'
  const provisioned = Object.entries(provisionedExecutions(settings))
  return provisioned.flatMap(([name, count]) => {
    const reserved = concurrency[name] ?? count
    return count > reserved
      ? [
          `${key}: ${name} reserves ${reserved} executions, and AWS refuses ${count}: choose at most ${reserved}`,
        ]
      : []
  })
}

function importProblems({ concurrency }: Stage, settings: Settings): string[] {
  if (!concurrency) return []
  const imports = settings['imports.inProgressPerTenant']
  const held = {
    'imports.prepare': imports,
    'imports.end': imports,
    'imports.rows': imports * chunksAtOnce,
  }
  const unfair = Object.entries(held).flatMap(([step, slots]) => {
    const all = concurrency[step] ?? 0
    const most = Math.floor(all / tenantDivisor)
    return slots > most
      ? [
          `imports.inProgressPerTenant: one tenant could hold ${slots} of the ${all} slots of ${step}: choose at most ${Math.floor((imports * most) / slots)}`,
        ]
      : []
  })
  return [...unfair, ...rateProblems(concurrency['imports.rows'] ?? 0, settings)]
}

/** Checks that imports of the largest files, as many as hold all slots, end in half of their time limit. */
function rateProblems(slots: number, settings: Settings): string[] {
  const imports = Math.ceil(slots / chunksAtOnce)
  const least = Math.ceil((2 * imports * unitsOfLargestFile(settings)) / importTimeoutSeconds)
  const reason = `${imports} imports of the largest file hold the ${slots} slots of imports.rows`
  return settings['imports.writeUnitsPerSecond'] < least
    ? [
        `imports.writeUnitsPerSecond: ${reason}: choose at least ${least}, or a smaller imports.maxRows or imports.maxBytes`,
      ]
    : []
}

/** Returns the write units of a file that has as many rows and as many bytes as a file may have. */
function unitsOfLargestFile(settings: Settings): number {
  const { inline, fileUrl } = settings['imports.maxBytes']
  return settings['imports.maxRows'] + Math.ceil(Math.max(inline, fileUrl) / 1024)
}
