import { parseArgs } from 'node:util'
import { countSeeds } from './count-seeds.ts'
import { defects, plant } from './defects.ts'
import type { Result } from './schedule.ts'

/**
 * Plays the schedules of consecutive seeds: `npm run simulate -- --runs 20000 --seed 1`. With `--timeline`, prints what
 * happens. With `--defect NAME`, plants a defect first; `--defect list` prints their names. With `--brief`, a failure is
 * not explained. `--count-seeds` counts the seeds of all defects.
 */
const { values } = parseArgs({
  options: {
    runs: { type: 'string' },
    seed: { type: 'string' },
    timeline: { type: 'boolean', default: false },
    defect: { type: 'string' },
    brief: { type: 'boolean', default: false },
    'count-seeds': { type: 'boolean', default: false },
  },
})
if (values.defect === 'list') {
  console.log(Object.keys(defects).join('\n'))
  process.exit()
}
if (values['count-seeds']) {
  const missed = await countSeeds(Number(values.runs ?? 24_000))
  process.exit(missed.length === 0 ? 0 : 1)
}
if (values.defect !== undefined) plant(values.defect)
const { play } = await import('./schedule.ts')

const runs = Number(values.runs ?? 1000)
const first = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31))
const before = process.cpuUsage()
console.log(`${runs} schedules from seed ${first}`)
for (let run = 0; run < runs; run += 1) {
  const result = await play({ seed: first + run, recorded: values.timeline })
  if (values.timeline) console.log(result.timeline.join('\n'))
  if (result.failure) {
    console.log(`seed ${result.seed} failed: ${result.failure.message}`)
    if (!values.brief) await explain(result)
    process.exitCode = 1
    break
  }
  if ((run + 1) % 1000 === 0) console.log(`${run + 1} schedules, ${rate(run + 1)}`)
}
if (process.exitCode !== 1) console.log(`${runs} schedules broke no promise, ${rate(runs)}`)

/** Relates to the time that the processor has worked, whatever else the machine does. */
function rate(count: number): string {
  const { user, system } = process.cpuUsage(before)
  return `${Math.round((count * 1e6) / (user + system))} a second of one core`
}

/** Prints the smallest schedule that still fails, and its timeline. */
async function explain({ seed, failure, clients, injected }: Result): Promise<void> {
  const without = { clients: new Set<string>(), faults: new Set<string>() }
  const fails = async () => nameOf((await play({ seed, without })).failure) === nameOf(failure)
  for (const name of clients) {
    without.clients.add(name)
    if (!(await fails())) without.clients.delete(name)
  }
  for (const { id } of injected) {
    without.faults.add(id)
    if (!(await fails())) without.faults.delete(id)
  }
  const smallest = await play({ seed, without, recorded: true })
  console.log(smallest.timeline.join('\n'))
  const left = clients.filter((name) => !without.clients.has(name))
  const faults = smallest.injected.map(({ id, kind, call }) => `${kind} at ${id} (${call})`)
  console.log(`clients: ${left.join(', ')}\nfaults: ${faults.join(', ') || 'none'}`)
  console.log(`seed ${seed}: ${smallest.failure?.stack}`)
}

/** The oracle of a failure, or the message of an unexpected error. */
function nameOf(failure: Error | undefined): string | undefined {
  return failure && 'oracle' in failure ? String(failure.oracle) : failure?.message
}
