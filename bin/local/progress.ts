/** Runs one step and prints its duration in seconds when it ends. Steps may overlap. */
export async function timed<T>(label: string, work: Promise<T>): Promise<T> {
  const started = performance.now()
  const result = await work
  process.stdout.write(`  ${label.padEnd(34)} ${secondsSince(started)} s\n`)
  return result
}

/** Returns the seconds since a `performance.now()`, with one decimal. */
export function secondsSince(started: number): string {
  return ((performance.now() - started) / 1000).toFixed(1).padStart(5)
}
