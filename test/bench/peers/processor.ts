import { readFile } from 'node:fs/promises'

/** Linux counts in hundredths of a second, whatever the kernel's own clock does. */
const ticksPerSecond = 100

/**
 * The processor time that processes have taken so far, with all of their threads and of what they started, in
 * milliseconds; NaN where there is no /proc to ask.
 */
export async function processorMs(pids: number[]): Promise<number> {
  const taken = await Promise.all(
    pids.map(async (pid) => {
      const line = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
      // The name of the program stands in brackets and may hold anything, spaces too.
      const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
      // Its own in user and system mode, and that of the children that it has seen end.
      const ticks = [11, 12, 13, 14].reduce((sum, field) => sum + Number(fields[field]), 0)
      return (ticks * 1000) / ticksPerSecond + (await processorMs(await childrenOf(pid)))
    }),
  )
  return taken.reduce((sum, one) => sum + one, 0)
}

/** The processes that a process started and that still run. */
export async function childrenOf(pid: number): Promise<number[]> {
  const line = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')
  return line.trim().split(' ').filter(Boolean).map(Number)
}
