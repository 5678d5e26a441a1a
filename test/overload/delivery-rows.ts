import { reservedConcurrency, stageNamed } from '#lib/stage.ts'
import type { Settings } from '#shared/settings/register.ts'
import { type DeliveryOutcome, type DeliveryScenario, playDeliveries } from './deliveries.ts'

type Load = Omit<DeliveryScenario, 'seed' | 'withoutGroups'>

/** Returns what the tables and the tests play, with the processes of `prod`. */
export function deliveryScenarios(settings: Settings) {
  const reserved = reservedConcurrency(stageNamed('prod'), settings) ?? {}
  const quiet = {
    creators: reserved['deliveries.create'] ?? 0,
    senders: reserved['deliveries.send'] ?? 0,
    seconds: 70,
    burst: 0,
    burstMilliseconds: 100,
  }
  const burst = { ...quiet, burst: 10_000 }
  // A steady rate shows in seconds whether it is sustained.
  const steady = { ...quiet, seconds: 20 }
  return {
    quiet,
    '1,000 a second, 0.1 s': { ...steady, rate: 1000 },
    '2,000 a second, 0.1 s': { ...steady, rate: 2000 },
    '300 a second, 0.25 s': { ...steady, rate: 300, burstMilliseconds: 250 },
    '10,000 at once, 0.1 s': burst,
    '10,000 at once, 0.45 s': { ...burst, burstMilliseconds: 450 },
    '10,000 at once, 0.9 s': { ...burst, burstMilliseconds: 900 },
    '10,000 at once, 5 s': { ...burst, burstMilliseconds: 5000 },
    '10,000 at once, 5 s, 16 subscribers': { ...burst, burstMilliseconds: 5000, burstSubscribers: 16 },
    '10,000 at once, hanging': { ...burst, burstMilliseconds: Number.POSITIVE_INFINITY },
    '10,000 at once, hanging, 16 subscribers': {
      ...burst,
      burstMilliseconds: Number.POSITIVE_INFINITY,
      burstSubscribers: 16,
    },
    '200 at once, 0.3 s': { ...quiet, burst: 200, burstMilliseconds: 300 },
  } satisfies Record<string, Load>
}

export const deliveryHead = [
  '| events of one tenant, time of a call | p95 of others, ms | the drawn seed, ms | slowest of others, ms | others accepted | calls | accepted | a second | p95, s | p95 of others without groups, ms |',
  '|---|---|---|---|---|---|---|---|---|---|',
]

/** Returns a row of the table: medians of the seeds, and the p95 of others with the seed that was drawn. */
export async function deliveryRow(
  name: string,
  load: Load,
  { seeds, drawn }: { seeds: readonly number[]; drawn: number },
): Promise<string> {
  const played: DeliveryOutcome[] = []
  const ungrouped: DeliveryOutcome[] = []
  for (const seed of seeds) played.push(await playDeliveries({ ...load, seed }))
  for (const seed of seeds) ungrouped.push(await playDeliveries({ ...load, seed, withoutGroups: true }))
  const { othersP95AtFirst: ofDrawn } = await playDeliveries({ ...load, seed: drawn })
  const median = (of: keyof DeliveryOutcome, among = played) => medianOf(among.map((one) => one[of]))
  const accepted = median('accepted')
  const figures = [
    median('othersP95AtFirst').toFixed(0),
    ofDrawn.toFixed(0),
    median('othersMax').toFixed(0),
    Math.min(...played.map(({ othersAccepted }) => othersAccepted)).toFixed(3),
    median('calls').toFixed(0),
    accepted.toFixed(0),
    load.rate ? median('acceptedASecond').toFixed(0) : '',
    accepted > 0 ? (median('ownP95') / 1000).toFixed(1) : '',
    median('othersP95AtFirst', ungrouped).toFixed(0),
  ]
  return `| ${[name, ...figures].join(' | ')} |`
}

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other)
  const middle = sorted.length / 2
  return ((sorted[Math.ceil(middle) - 1] ?? Number.NaN) + (sorted[Math.floor(middle)] ?? Number.NaN)) / 2
}
