/** Returns what a function throws; undefined if it returns. */
export function thrownBy(run: () => unknown): unknown {
  try {
    run()
  } catch (thrown) {
    return thrown
  }
  return undefined
}
