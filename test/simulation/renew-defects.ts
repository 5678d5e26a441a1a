import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { FILE_HEADERS_ONLY, formatPatch, structuredPatch } from 'diff'
import { changedSources, defects, type Finding, fileOf, findingOf } from './defects.ts'
import { simulate } from './run-simulate.ts'

/**
 * `npm run defects` lists the planted defects: the seed that finds each, the promise that it breaks, and which patches no longer
 * apply. `-- --renew NAME` makes the unstaged changes of the source the patch of a defect, and takes them back.
 * `-- --count-seeds` finds each defect again, or those that are named after it.
 */

/**
 * Returns the unstaged changes of a repository as a patch, and takes them back. What is staged stays: an engineer stages a change,
 * makes the mistake, and calls this.
 */
export function takeMistake(root: string): string {
  const git = (...words: string[]) => execFileSync('git', words, { cwd: root, encoding: 'utf8' })
  const paths = git('diff', '--name-only', '--', ':!*.patch').split('\n').filter(Boolean)
  if (paths.length === 0) throw new Error('stage your own changes, and make the mistake in the source')
  const patch = paths.map((path) => {
    const [before, after] = [git('show', `:${path}`), readFileSync(join(root, path), 'utf8')]
    return structuredPatch(`a/${path}`, `b/${path}`, before, after, undefined, undefined, { context: 3 })
  })
  git('restore', '--', ...paths)
  return formatPatch(patch, FILE_HEADERS_ONLY)
}

/** Writes the file of a defect. */
function write(name: string, finding: Finding | undefined, patch: string): void {
  const found = finding ? `seed ${finding.seed}: ${finding.promise}\n\n` : ''
  writeFileSync(fileOf(name), found + patch)
}

function patchOf(name: string): string {
  const text = readFileSync(fileOf(name), 'utf8')
  return text.slice(text.search(/^--- /m))
}

/** Lists the defects. @returns whether each patch applies */
function list(): boolean {
  const lines = defects.map((name) => {
    const { seed, promise } = findingOf(name) ?? {}
    try {
      changedSources(name)
      return `${name}: ${seed ? `seed ${seed}, ${promise}` : 'not found yet'}`
    } catch (thrown) {
      return String(thrown)
    }
  })
  console.log(lines.join('\n'))
  return !lines.some((line) => line.startsWith('Error'))
}

/**
 * Plays schedules from seed 1 on with each of these defects until one fails, on all cores, and writes what it finds. A random draw
 * that is added to the service or to the simulator moves all seeds.
 * @returns whether each defect was found
 */
async function countSeeds(names: readonly string[], runs: number): Promise<boolean> {
  const waiting = [...names]
  let missed = 0
  const count = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const options = ['--defect', name, '--seed', '1', '--runs', String(runs), '--brief', '--cores', '1']
      const { output } = await simulate(...options)
      const [, seed, promise] = /^seed (\d+) failed: ([^:\n]+)/m.exec(output) ?? []
      const finding = seed && promise ? { seed: Number(seed), promise } : undefined
      if (!finding) missed += 1
      write(name, finding, patchOf(name))
      console.log(`${name}: ${finding ? `${seed}, ${promise}` : `not found\n${output.slice(0, 500)}`}`)
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, count))
  return missed === 0
}

if (import.meta.main) {
  const { values, positionals: named } = parseArgs({
    allowPositionals: true,
    options: {
      renew: { type: 'string' },
      'count-seeds': { type: 'boolean', default: false },
      runs: { type: 'string', default: '300000' },
    },
  })
  const { renew } = values
  if (renew !== undefined) {
    const finding = defects.includes(renew) ? findingOf(renew) : undefined
    write(renew, finding, takeMistake(join(import.meta.dirname, '../..')))
  } else {
    const counted = named.length > 0 ? named : defects
    const succeeded = values['count-seeds'] ? await countSeeds(counted, Number(values.runs)) : list()
    process.exitCode = succeeded ? 0 : 1
  }
}
