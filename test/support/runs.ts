/**
 * Returns how often a random test runs: all runs with `npm run test:all`, a tenth with `npm test`, which each developer
 * waits for.
 */
export function runs(all: number): number {
  return process.env.TEST_ALL === '1' ? all : Math.ceil(all / 10)
}
