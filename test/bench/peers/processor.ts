import { readFile } from 'node:fs/promises'

/** Linux reports CPU time in hundredths of a second. */
const ticksPerSecond = 100

/**
 * Returns the CPU time of processes with their threads and child processes, in milliseconds; NaN without /proc.
 * @param ofEnded the CPU time of a process that has ended. That of a child counts as its parent's.
 */
export async function processorMs(pids: number[], ofEnded = Number.NaN): Promise<number> {
  const taken = await Promise.all(
    pids.map(async (pid) => {
      const line = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
      if (line === '') return ofEnded
      // The name of the program is in brackets and can contain spaces.
      const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
      // Its user and system time, and that of its ended children.
      const ticks = [11, 12, 13, 14].reduce((sum, field) => sum + Number(fields[field]), 0)
      return (ticks * 1000) / ticksPerSecond + (await processorMs(await childrenOf(pid), 0))
    }),
  )
  return taken.reduce((sum, one) => sum + one, 0)
}

/** Returns the running child processes of a process. */
export async function childrenOf(pid: number): Promise<number[]> {
  const line = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')
  return line.trim().split(' ').filter(Boolean).map(Number)
}
