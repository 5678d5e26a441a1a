/** Returns the processor time of this process that some work takes, in milliseconds, however busy the machine is. */
export function processorTime(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
