import { setTimeout as sleep } from 'node:timers/promises'

/** Reads until the condition holds. The limit is far above what a busy machine takes, and below that of a test. */
export async function until<T>(read: () => Promise<T> | T, holds: (value: T) => boolean): Promise<T> {
  for (const over = Date.now() + 200_000; ; await sleep(200)) {
    const value = await read()
    if (holds(value)) return value
    if (Date.now() > over) throw new Error(`the last value is ${JSON.stringify(value)}`)
  }
}
