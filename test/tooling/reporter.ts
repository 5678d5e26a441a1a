/** What jest hands a reporter at the end of a run, as far as the totals need it. */
export interface RunResults {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly numPendingTests: number
  readonly numTodoTests: number
  readonly numRuntimeErrorTestSuites: number
}

/** `N passed, N failed`, with skipped tests when there are any; a suite that could not run is a failure. */
export function totals(results: RunResults): string {
  const failed = results.numFailedTests + results.numRuntimeErrorTestSuites
  const skipped = results.numPendingTests + results.numTodoTests
  return `${results.numPassedTests} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}

/** How long after the run jest itself may still print, such as its warning about open handles. */
const patienceMs = 5000

/** Prints the totals of the run as the very last line of all output. */
export default class TotalsReporter {
  onRunComplete(_contexts: unknown, results: RunResults): void {
    let printed = false
    const print = () => {
      if (printed) return
      printed = true
      // Whatever was printed last may not have ended its line.
      process.stdout.write(`\n${totals(results)}\n`)
    }
    // Workers' output, the global teardown and jest's warnings come after this hook, so the line waits for
    // the end of the process. Where an open handle keeps the process alive, it does not wait for ever.
    process.once('exit', print)
    setTimeout(print, patienceMs).unref()
  }
}
