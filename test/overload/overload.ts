import { parseArgs } from 'node:util'
import { stageNamed } from '#lib/stage.ts'
import { type DeliveryOutcome, type DeliveryScenario, playDeliveries } from './deliveries.ts'
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
  },
})
const { unlimited } = values
const scale = Number(values.scale)
const reserved = stageNamed('prod').concurrency ?? {}
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

const sent = {
  seed: Number(values.seed),
  creators: reserved['deliveries.create'] ?? 20,
  senders: reserved['deliveries.send'] ?? 50,
  seconds: 70,
  burst: 10_000,
}
const deliveries: Record<string, DeliveryScenario> = {
  quiet: { ...sent, burst: 0, burstMilliseconds: 0 },
  'a subscriber that hangs': { ...sent, burstMilliseconds: Number.POSITIVE_INFINITY },
  'the same without cap and breaker': {
    ...sent,
    burstMilliseconds: Number.POSITIVE_INFINITY,
    unlimited: true,
  },
  'one that takes 5 s': { ...sent, burstMilliseconds: 5000 },
  '16 subscribers that take 5 s': { ...sent, burstMilliseconds: 5000, burstSubscribers: 16 },
  '16 subscribers that hang': {
    ...sent,
    burstMilliseconds: Number.POSITIVE_INFINITY,
    burstSubscribers: 16,
  },
  'a flood for one that takes 0.1 s': { ...sent, burstMilliseconds: 100 },
  'a flood for one that takes 0.45 s': { ...sent, burstMilliseconds: 450 },
  'a flood for one that takes 0.9 s': { ...sent, burstMilliseconds: 900 },
  'no more than 200 for one that takes 0.3 s': { ...sent, burst: 200, burstMilliseconds: 300 },
}
console.log(
  '\n| 10,000 events for | p95 of others in 20 s, ms | in 60 s, ms | slowest of others, ms | others accepted | calls | accepted | the last after, s |',
)
console.log('|---|---|---|---|---|---|---|---|')
for (const [name, scenario] of Object.entries(deliveries))
  console.log(deliveryRowOf(name, await playDeliveries(scenario)))

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

function deliveryRowOf(name: string, outcome: DeliveryOutcome): string {
  const { othersP95AtFirst, othersP95, othersMax, othersAccepted, calls, accepted, lastAccepted } = outcome
  const figures = [
    othersP95AtFirst.toFixed(0),
    othersP95.toFixed(0),
    othersMax.toFixed(0),
    othersAccepted.toFixed(3),
    calls,
    accepted,
    accepted > 0 ? (lastAccepted / 1000).toFixed(1) : '',
  ]
  return `| ${[name, ...figures].join(' | ')} |`
}

function rowOf(name: string, outcome: Outcome): string {
  const { goodput, slots, callsPerSuccess, othersP95, othersSucceeded, recoverySeconds } = outcome
  const figures = [goodput.toFixed(2), slots.toFixed(0), callsPerSuccess.toFixed(1), othersP95.toFixed(1)]
  return `| ${[name, ...figures, othersSucceeded.toFixed(3), recoverySeconds].join(' | ')} |`
}
