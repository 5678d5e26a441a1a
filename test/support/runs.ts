export const runsAll = process.env.TESTS === 'all'

/** The seed of random tests. It is fixed, so that no run depends on luck; `SEED=2 npx jest …` tries other values. */
const seed = Number(process.env.SEED ?? 20_261_123)

/**
 * Returns the parameters of a random test: its seed, and how often it runs. That is all runs with `TESTS=all`, and
 * a tenth with `npm test`, which each developer waits for.
 */
export function runs(all: number): { numRuns: number; seed: number } {
  return { numRuns: runsAll ? all : Math.ceil(all / 10), seed }
}

/**
 * Returns the cases of one row of an enumeration: all of them with `TESTS=all`, and a third with `npm test`.
 * Consecutive rows get other thirds, so every row and every case stays covered, but not every pair.
 */
export function someOf<Case>(cases: readonly Case[], row: number): Case[] {
  const step = 3
  return cases.filter((_, at) => runsAll || at % step === row % Math.min(step, cases.length))
}
