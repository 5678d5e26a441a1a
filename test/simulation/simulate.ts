import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { plant } from './defects.ts'
import { simulate } from './run-simulate.ts'
import type { Result } from './schedule.ts'

type Play = typeof import('./schedule.ts').play

/**
 * Plays the schedules of consecutive seeds on all cores: `npm run simulate -- --runs 20000 --seed 1`. It stops at the first
 * failure. With `--timeline`, prints what happens. With `--defect NAME`, plants a defect first; `npm run defects` lists them.
 * With `--brief`, a failure is not explained. `--cores 1` plays all in this process.
 */
const { values } = parseArgs({
  options: {
    runs: { type: 'string' },
    seed: { type: 'string' },
    timeline: { type: 'boolean', default: false },
    defect: { type: 'string' },
    brief: { type: 'boolean', default: false },
    cores: { type: 'string' },
  },
})
/** The schedules of one process. Its memory ends with it, and its start takes little of its time. */
const runsOfProcess = 10_000

const runs = Number(values.runs ?? 1000)
const first = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31))
const cores = values.timeline ? 1 : Number(values.cores ?? availableParallelism())
const startedAt = performance.now()
console.log(`${runs} schedules from seed ${first}`)
const violations = await (cores > 1 && runs > runsOfProcess ? playOnCores() : playHere())
process.exitCode = violations === 0 ? 0 : 1

/** Plays all schedules in other processes. @returns the number of those that failed */
async function playOnCores(): Promise<number> {
  const own = ['--cores', '1', ...(values.brief ? ['--brief'] : [])]
  const planted = values.defect === undefined ? [] : ['--defect', values.defect]
  let next = 0
  let [played, failed, cpuSeconds] = [0, 0, 0]
  async function playNext(): Promise<void> {
    while (next < runs && failed === 0) {
      const count = Math.min(runsOfProcess, runs - next)
      const seed = first + next
      next += count
      const { code, output } = await simulate(
        ...['--runs', String(count), '--seed', String(seed), ...own, ...planted],
      )
      if (code === 0) played += count
      else {
        failed += 1
        console.log(output)
      }
      cpuSeconds += Number(/([\d.]+) s of CPU/.exec(output.trim().split('\n').at(-1) ?? '')?.[1] ?? 0)
      report(played, failed, cpuSeconds)
    }
  }
  await Promise.all(Array.from({ length: cores }, playNext))
  return failed
}

/** Plays schedules until one fails. @returns the number of those that failed */
async function playHere(): Promise<number> {
  if (values.defect !== undefined) plant(values.defect)
  const { play } = await import('./schedule.ts')
  for (let run = 0; run < runs; run += 1) {
    const result = await play({ seed: first + run, recorded: values.timeline })
    if (values.timeline) console.log(result.timeline.join('\n'))
    if (result.failure) {
      console.log(`seed ${result.seed} failed: ${result.failure.message}`)
      if (!values.brief) await explain(result, play)
      return 1
    }
    if ((run + 1) % 1000 === 0 || run + 1 === runs) report(run + 1, 0, ownCpuSeconds())
  }
  return 0
}

function report(played: number, failed: number, cpuSeconds: number): void {
  const seconds = (performance.now() - startedAt) / 1000
  const took = `${Math.round(seconds)} s, ${Math.round(played / seconds)} a second`
  console.log(`${played} schedules in ${took}, ${cpuSeconds.toFixed(1)} s of CPU, ${failed} violations`)
}

function ownCpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

/** Prints the smallest schedule that still fails, and its timeline. */
async function explain({ seed, failure, clients, injected }: Result, play: Play): Promise<void> {
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
