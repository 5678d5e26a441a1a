import { readFile } from 'node:fs/promises'

/** Linux counts in hundredths of a second, whatever the kernel's own clock does. */
const ticksPerSecond = 100

/**
 * The processor time that a process has taken so far, with all of its threads, in milliseconds; NaN where there is no
 * /proc to ask.
 */
export async function processorMs(pid: number | undefined): Promise<number> {
  const line = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // The name of the program stands in brackets and may hold anything, spaces too.
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
  const [user, system] = [fields[11], fields[12]].map(Number)
  return (((user ?? Number.NaN) + (system ?? Number.NaN)) * 1000) / ticksPerSecond
}
