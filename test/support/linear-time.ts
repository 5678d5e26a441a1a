const maxAttempts = 10
/** Milliseconds. Less is not compared: it is mostly the time of the measurement. */
const least = 20

/**
 * Returns the processor time of some work on a text, over eight times that of the work on texts of an eighth of its length:
 * about 1 if the time is linear, about 8 if it is quadratic. Whatever else the machine or the process does adds to one of
 * the two, so the smallest ratio of ten counts.
 * @param textOf makes a text of a length
 */
export function timeRatio(
  work: (text: string) => unknown,
  textOf: (length: number) => string,
  length: number,
): number {
  const [whole, part] = [textOf(length), textOf(length / 8)]
  let smallest = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < maxAttempts && smallest > 2; attempt += 1) {
    const parts = processorTime(() => {
      for (let n = 0; n < 8; n += 1) work(part)
    })
    const ratio = processorTime(() => work(whole)) / Math.max(least, parts)
    smallest = Math.min(smallest, ratio)
  }
  return smallest
}

/** Returns the processor time of this thread that some work takes, in milliseconds. */
function processorTime(work: () => void): number {
  const before = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}
