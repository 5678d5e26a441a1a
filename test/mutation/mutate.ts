import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { areas } from './areas.ts'

/** The score below which the command fails, in percent. */
const leastScore = 90

interface Mutant {
  status: 'Killed' | 'Timeout' | 'Survived' | 'NoCoverage' | 'RuntimeError' | 'CompileError' | 'Ignored'
  mutatorName: string
  replacement?: string
  location: { start: { line: number } }
}

interface Score {
  found: number
  all: number
  survivors: string[]
}

const named = process.argv.slice(2)
const scores = new Map<string, Score>()
mkdirSync('.build/mutation', { recursive: true })
for (const name of named.length > 0 ? named : Object.keys(areas)) {
  const { status } = spawnSync('stryker', ['run', 'test/mutation/stryker.config.mjs'], {
    stdio: 'inherit',
    env: { ...process.env, MUTATED_AREA: name, TABLE: 'memory' },
  })
  if (status !== 0) process.exit(1)
  addScores(join('.build/mutation', `${name}.json`))
}
for (const [folder, { found, all, survivors }] of scores) {
  for (const survivor of survivors) console.log(survivor)
  console.log(`${folder}: ${percent(found, all)} % (${found} of ${all})\n`)
}
if ([...scores.values()].some(({ found, all }) => percent(found, all) < leastScore)) {
  console.error(`A folder is below ${leastScore} %: write the tests that fail for the mutants above.`)
  process.exitCode = 1
}

/** Adds the mutants of a report to the score of their folder. */
function addScores(report: string): void {
  const { files }: { files: Record<string, { mutants: Mutant[] }> } = JSON.parse(readFileSync(report, 'utf8'))
  for (const [path, { mutants }] of Object.entries(files)) {
    if (mutants.length === 0) continue
    const score = scores.get(dirname(path)) ?? { found: 0, all: 0, survivors: [] }
    scores.set(dirname(path), score)
    for (const { status, mutatorName, replacement = '', location } of mutants) {
      if (!['Killed', 'Timeout', 'Survived', 'NoCoverage'].includes(status)) continue
      const isFound = status === 'Killed' || status === 'Timeout'
      score.all += 1
      score.found += isFound ? 1 : 0
      const mutation = `${mutatorName} -> ${replacement.replaceAll(/\s+/g, ' ').slice(0, 80)}`
      if (!isFound) score.survivors.push(`${path}:${location.start.line} ${status}: ${mutation}`)
    }
  }
}

function percent(found: number, all: number): number {
  return Math.floor((1000 * found) / all) / 10
}
