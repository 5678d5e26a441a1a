import { uuidV7 } from './ids.ts'

/** The clock and the random source. Only this module reads them; rules receive them as arguments. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  sleep(milliseconds: number): Promise<void>
  /** At least 0 and below 1; for jitter only, never for secrets. */
  jitter(): number
  /** Cryptographically random. */
  randomBytes(length: number): Uint8Array
}

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
  jitter: () => Math.random(),
  randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
}

export function newId(clock: Clock): string {
  return uuidV7(clock.now(), clock.randomBytes(10))
}

/** Formats a time as RFC 3339 in UTC with milliseconds, ending in Z. */
export function timestamp(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}

/** Returns the whole seconds since a time. */
export function secondsSince(milliseconds: number, clock: Pick<Clock, 'now'>): number {
  return Math.floor((clock.now() - milliseconds) / 1000)
}
