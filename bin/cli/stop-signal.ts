/** npm repeats a signal that the terminal has sent to it and to the command. */
const repeatMilliseconds = 1000

/**
 * Calls `stop` at the first Ctrl-C, SIGTERM, or end of the terminal (SIGHUP). A later one that nobody repeated ends the
 * process with code 130.
 */
export function onStopSignal(stop: () => void): void {
  let first: number | undefined
  const received = () => {
    if (first === undefined) {
      first = performance.now()
      stop()
    } else if (performance.now() - first > repeatMilliseconds) process.exit(130)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, received)
}
