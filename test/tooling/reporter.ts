import { relative } from 'node:path'

/** The results of a run that jest passes to a reporter, limited to those that the totals need. */
interface RunResults {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly numPendingTests: number
  readonly numTodoTests: number
  readonly numRuntimeErrorTestSuites: number
  readonly testResults: readonly {
    readonly testFilePath: string
    readonly perfStats: { readonly runtime: number }
  }[]
}

/**
 * Returns `N passed, N failed`, with the number of skipped tests if there are any. A suite that could not run is a
 * failure.
 */
export function totals(results: Omit<RunResults, 'testResults'>): string {
  const failed = results.numFailedTests + results.numRuntimeErrorTestSuites
  const skipped = results.numPendingTests + results.numTodoTests
  return `${results.numPassedTests} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}

/** Returns the ten files that took longest, one in a line, with their seconds. */
export function slowestFiles({ testResults }: Pick<RunResults, 'testResults'>): string[] {
  return testResults
    .toSorted((a, b) => b.perfStats.runtime - a.perfStats.runtime)
    .slice(0, 10)
    .map(({ testFilePath, perfStats }) => {
      const seconds = (perfStats.runtime / 1000).toFixed(1)
      return `${seconds.padStart(7)} s  ${relative(process.cwd(), testFilePath)}`
    })
}

/** How long after the run jest may still print, such as its warning about open handles. */
const waitMs = 60_000

/** Prints the slowest files, and the totals of the run as the last line of all output. */
export default class TotalsReporter {
  onRunComplete(_contexts: unknown, results: RunResults): void {
    if (results.testResults.length > 10)
      process.stdout.write(`\nThe slowest files:\n${slowestFiles(results).join('\n')}\n`)
    let printed = false
    const print = () => {
      if (printed) return
      printed = true
      // The previous output may not have ended its line.
      process.stdout.write(`\n${totals(results)}\n`)
    }
    // Workers' output, the global teardown and jest's warnings come after this hook, so the totals are printed at
    // process exit. The timer covers an open handle that keeps the process alive.
    process.once('exit', print)
    setTimeout(print, waitMs).unref()
  }
}
