import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { reservedConcurrency, stageNamed } from '#lib/stage.ts'
import { localSettings } from '#test/support/settings.ts'
import { deliveryHead, deliveryRow, deliveryScenarios } from './delivery-rows.ts'
import { playMixed } from './mixed-load.ts'
import { type Outcome, play, type Scenario, share } from './scenario.ts'
import { playSearches } from './searches.ts'

/** Plays overload in virtual time and prints a table: `npm run overload -- --scale 0.05 --seed 2`. */
const { values } = parseArgs({
  options: {
    scale: { type: 'string', default: '0.05' },
    seed: { type: 'string', default: '1' },
    /** Without what holds load back: 12 attempts against a throttle, no call shed, `Retry-After: 1`. */
    unlimited: { type: 'boolean', default: false },
    /** How many seeds the rows of deliveries have. */
    seeds: { type: 'string', default: '10' },
  },
})
const { unlimited } = values
const scale = Number(values.scale)
const reserved = reservedConcurrency(stageNamed('prod'), localSettings) ?? {}
const usual = {
  ...{ seed: Number(values.seed), scale, slots: 1000, reserved, unlimited },
  ...{ usual: 0.5, peakSeconds: 30, afterSeconds: 25 },
}
const scenarios: Record<string, Scenario> = {
  quiet: { ...usual, peak: share, usual: share },
  ...Object.fromEntries([0.5, 1, 2, 4, 10].map((peak) => [`${peak} times the capacity`, { ...usual, peak }])),
  'one tenant at 50 times its share': { ...usual, usual: share, peak: 50 * share },
  'a spike of 10 s at 10 times the capacity': { ...usual, peak: 10, peakSeconds: 10 },
  'the same after 5 quiet minutes': { ...usual, peak: 10, peakSeconds: 10, credit: 300 },
  'a provider that hangs': { ...usual, peak: share, usual: share, hangingRefunds: 77 },
  'the same without reserved concurrency': {
    ...usual,
    reserved: {},
    peak: share,
    usual: share,
    hangingRefunds: 77,
  },
}
console.log(
  '| load | goodput | slots | calls per success | p95 of others, ms | others succeeded | recovery, s |',
)
console.log('|---|---|---|---|---|---|---|')
for (const [name, scenario] of Object.entries(scenarios)) console.log(rowOf(name, await play(scenario)))

const drawn = randomInt(1e9)
const seeds = Array.from({ length: Number(values.seeds) }, (_, number) => number + 1)
console.log(`\nthe seed drawn: ${drawn}`)
for (const line of deliveryHead) console.log(line)
for (const [name, scenario] of Object.entries(deliveryScenarios(localSettings)))
  console.log(await deliveryRow(name, scenario, { seeds, drawn }))

console.log('\n| shards | requests of the mix a second | other requests that succeeded |\n|---|---|---|')
for (const shards of [1, 4, 16]) {
  const load = { seed: Number(values.seed), scale: (3 * scale) / shards, shards, load: 1.25 }
  const { requestsASecond, othersSucceeded } = await playMixed(load)
  console.log(`| ${[shards, Math.round(requestsASecond), othersSucceeded.toFixed(3)].join(' | ')} |`)
}

console.log(
  '\n| searches of one caller a second | reads that succeeded | lists | searches |\n|---|---|---|---|',
)
for (const searches of [1, 100]) {
  const outcome = await playSearches({ seed: Number(values.seed), searches, seconds: 30 })
  const parts = [outcome.reads, outcome.lists, outcome.searches].map((part) => part.toFixed(3))
  console.log(`| ${[searches, ...parts].join(' | ')} |`)
}

function rowOf(name: string, outcome: Outcome): string {
  const { goodput, slots, callsPerSuccess, othersP95, othersSucceeded, recoverySeconds } = outcome
  const figures = [goodput.toFixed(2), slots.toFixed(0), callsPerSuccess.toFixed(1), othersP95.toFixed(1)]
  return `| ${[name, ...figures, othersSucceeded.toFixed(3), recoverySeconds].join(' | ')} |`
}
