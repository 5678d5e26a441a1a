const runsAll = process.env.TEST_ALL === '1'

/**
 * Returns how often a random test runs: all runs with `npm run test:all`, a tenth with `npm test`, which each developer
 * waits for.
 */
export function runs(all: number): number {
  return runsAll ? all : Math.ceil(all / 10)
}

/**
 * Returns the cases of one row of an enumeration: all of them with `npm run test:all`, and a third with `npm test`.
 * Consecutive rows get other thirds, so every row and every case stays covered, but not every pair.
 */
export function someOf<Case>(cases: readonly Case[], row: number): Case[] {
  const step = 3
  return cases.filter((_, at) => runsAll || at % step === row % Math.min(step, cases.length))
}
