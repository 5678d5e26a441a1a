import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { defects } from './defects.ts'
import { simulate } from './run-simulate.ts'

/** Where a defect is found: the first failing seed, counted from 1, and the promise that it breaks. */
interface Finding {
  seed: number
  promise: string
}

const file = join(import.meta.dirname, 'findings.json')
const page = join(import.meta.dirname, '../../docs/testing.md')
const head = '| defect | seed | broken promise |\n|---|---|---|\n'

/** Returns where each defect was found when the seeds were last counted. */
export function readFindings(): Record<string, Finding> {
  return JSON.parse(readFileSync(file, 'utf8'))
}

/**
 * Plays schedules from seed 1 on with each defect until one fails, on all cores, and writes what it finds. A random draw
 * that is added to the service or to the simulator moves all seeds.
 * @returns the defects that were not found
 */
export async function countSeeds(runs: number): Promise<string[]> {
  const findings = new Map<string, Finding>()
  const names = Object.keys(defects)
  const waiting = [...names]
  const count = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const options = ['--defect', name, '--seed', '1', '--runs', String(runs), '--brief', '--cores', '1']
      const { output } = await simulate(...options)
      const [, seed, promise] = /^seed (\d+) failed: ([^:\n]+)/m.exec(output) ?? []
      if (seed && promise) findings.set(name, { seed: Number(seed), promise })
      console.log(
        `${name}: ${seed && promise ? `${seed}, ${promise}` : `not found\n${output.slice(0, 500)}`}`,
      )
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, count))
  write(names.flatMap((name) => [[name, findings.get(name)] as const]))
  return names.filter((name) => !findings.has(name))
}

function write(all: readonly (readonly [string, Finding | undefined])[]): void {
  const found = all.filter((one): one is [string, Finding] => one[1] !== undefined)
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(found), null, 2)}\n`)
  const [before = '', after = ''] = readFileSync(page, 'utf8').split(head)
  const rest = after.slice(after.indexOf('\n\n'))
  const rows = found.map(([name, { seed, promise }]) => `| ${name} | ${seed} | ${promise} |`)
  writeFileSync(page, `${before}${head}${rows.join('\n')}${rest}`)
}
