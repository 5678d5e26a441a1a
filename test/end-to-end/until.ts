import { setTimeout as sleep } from 'node:timers/promises'

/**
 * How long a test waits, in milliseconds: far longer than a busy machine takes, also if a message is handed out again
 * because its function was late, and less than the limit of a test.
 */
export const patience = 600_000

/** Reads until the condition holds. */
export async function until<T>(read: () => Promise<T> | T, holds: (value: T) => boolean): Promise<T> {
  for (const over = Date.now() + patience; ; await sleep(200)) {
    const value = await read()
    if (holds(value)) return value
    if (Date.now() > over) throw new Error(`the last value is ${JSON.stringify(value)}`)
  }
}
