import type { Concurrency } from '#lib/stage.ts'
import type { Clock } from '#shared/platform/base/clock.ts'
import type { Random } from '#test/simulation/random.ts'
import type { Scheduler } from '#test/simulation/scheduler.ts'
import { clockOf } from '#test/support/clocks.ts'

/** Milliseconds that a function starts, and those that its processor works for one request. */
const startMilliseconds = [300, 500] as const
const workMilliseconds = [3, 8] as const

interface Options {
  scheduler: Scheduler
  random: Random
  /** The slots of the account, and those that some functions reserve of them. */
  slots: number
  reserved: Concurrency
  /** The slots of this model as a part of the real ones. */
  scale: number
}

/**
 * Functions on Lambda. A process handles one request at a time and is kept for the next one; each process at work holds
 * a slot.
 */
export class Functions {
  /** Slots in use now, and the largest number of them since `resetMost`. */
  inUse = 0
  maxInUse = 0
  readonly #options: Options
  readonly #idle = new Map<string, Clock[]>()
  readonly #used = new Map<string, number>()
  #started = 0

  constructor(options: Options) {
    this.#options = options
  }

  resetMost(): void {
    this.maxInUse = this.inUse
  }

  /** Runs work in a process of a function. @returns undefined if the function has no free slot */
  async invoke<Result>(name: string, work: (process: Clock) => Promise<Result>): Promise<Result | undefined> {
    const { scheduler, random, slots, reserved, scale } = this.#options
    const pool = reserved[name] === undefined ? 'others' : name
    const rest = slots - Object.values(reserved).reduce((sum, count) => sum + count, 0)
    const limit = Math.round((reserved[name] ?? rest) * scale)
    const used = this.#used.get(pool) ?? 0
    if (used >= limit) return undefined
    this.#used.set(pool, used + 1)
    this.inUse += 1
    this.maxInUse = Math.max(this.maxInUse, this.inUse)
    const idle = this.#idle.get(name) ?? []
    this.#idle.set(name, idle)
    const process = idle.pop() ?? (await this.#start())
    await scheduler.sleep(between(workMilliseconds, random))
    try {
      return await work(process)
    } finally {
      idle.push(process)
      this.#used.set(pool, (this.#used.get(pool) ?? 0) - 1)
      this.inUse -= 1
    }
  }

  async #start(): Promise<Clock> {
    const { scheduler, random } = this.#options
    this.#started += 1
    const own = random.fork(`process ${this.#started}`)
    await scheduler.sleep(between(startMilliseconds, own))
    return clockOf(scheduler, own)
  }
}

export function between([from, to]: readonly [number, number], random: Random): number {
  return from + random.next() * (to - from)
}
