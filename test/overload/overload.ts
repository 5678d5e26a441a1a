import { parseArgs } from 'node:util'
import { stageNamed } from '#lib/stage.ts'
import { type Outcome, play, type Scenario, share } from './scenario.ts'

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

function rowOf(name: string, outcome: Outcome): string {
  const { goodput, slots, callsPerSuccess, othersP95, othersSucceeded, recoverySeconds } = outcome
  const figures = [goodput.toFixed(2), slots.toFixed(0), callsPerSuccess.toFixed(1), othersP95.toFixed(1)]
  return `| ${[name, ...figures, othersSucceeded.toFixed(3), recoverySeconds].join(' | ')} |`
}
