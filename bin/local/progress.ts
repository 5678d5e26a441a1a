/** Runs one step and prints a line with its seconds once it is done; steps may overlap. */
export async function timed<T>(label: string, work: Promise<T>): Promise<T> {
  const started = performance.now()
  const result = await work
  process.stdout.write(`  ${label.padEnd(34)} ${secondsSince(started)} s\n`)
  return result
}

/** Seconds since a `performance.now()`, with one decimal. */
export function secondsSince(started: number): string {
  return ((performance.now() - started) / 1000).toFixed(1).padStart(5)
}
