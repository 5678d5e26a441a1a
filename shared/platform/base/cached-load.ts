import type { Budget, Clock } from './clock.ts'
import { fail } from './failure.ts'

/** All in milliseconds. */
interface CacheTimes {
  /** The time limit of one load. */
  deadline: number
  /** The age at which a value is reloaded. The known value is used until the reload succeeds. */
  refreshAfter: number
  /** The age at which a value is no longer used. */
  maxAge: number
  /** How long no load starts after a failed one. */
  pauseAfterFailure: number
}

/** A cached value of another service. */
export interface CachedLoad<Value> {
  /** @throws the error of the load if no usable value is known, DEPENDENCY.timeout if the budget ends first */
  get(budget: Budget): Promise<Value>
  /**
   * Reloads the value unless it is younger than `minAge`. Requests with less time than a load may take start one load in
   * this time at most, and get the known value if the time does not suffice. @throws as `get`, also if a reload fails
   * although a value is known
   */
  renew(budget: Budget, minAge: number): Promise<Value>
}

interface Running<Value> {
  result: Promise<Value>
  waiting: number
  abandoned: AbortController
}

/**
 * Loads a value for all requests of a process, one load at a time.
 *
 * Callers choose their own budgets, so a budget limits only the wait of one request. A load that no request waits
 * for is aborted and not recorded as failed: a caller with little time cannot cause errors for others.
 */
export function cachedLoad<Value>(
  load: (signal: AbortSignal) => Promise<Value>,
  times: CacheTimes,
  clock: Pick<Clock, 'now'>,
): CachedLoad<Value> {
  let known: { value: Value; at: number } | undefined
  let failed: { thrown: unknown; at: number } | undefined
  let running: Running<Value> | undefined
  /** The time of the latest renewal by a request with too little time for it. */
  let callerLimitedAt = Number.NEGATIVE_INFINITY

  function start(): Running<Value> {
    const abandoned = new AbortController()
    const at = clock.now()
    const result = load(AbortSignal.any([abandoned.signal, AbortSignal.timeout(times.deadline)])).then(
      (value) => {
        known = { value, at }
        failed = undefined
        return value
      },
      (thrown) => {
        if (!abandoned.signal.aborted) failed = { thrown, at: clock.now() }
        throw thrown
      },
    )
    return { result, waiting: 0, abandoned }
  }

  async function loaded(budget: Budget): Promise<Value> {
    if (failed && clock.now() - failed.at < times.pauseAfterFailure) throw failed.thrown
    budget.check()
    running ??= start()
    const joined = running
    joined.waiting += 1
    try {
      return await Promise.race([joined.result, spent(budget)])
    } finally {
      joined.waiting -= 1
      if (joined.waiting === 0) {
        joined.abandoned.abort()
        if (running === joined) running = undefined
      }
    }
  }

  return {
    async get(budget) {
      const { value, at } = known ?? {}
      const age = at === undefined ? Number.POSITIVE_INFINITY : clock.now() - at
      const usable = age < times.maxAge
      // A request with a usable value and no time for a whole load does not start one.
      if (usable && (age < times.refreshAfter || budget.remaining() < times.deadline)) return value as Value
      try {
        return await loaded(budget)
      } catch (thrown) {
        if (usable) return value as Value
        throw thrown
      }
    },
    async renew(budget, minAge) {
      const now = clock.now()
      if (known && now - known.at < minAge) return known.value
      const usable = known && now - known.at < times.maxAge ? known : undefined
      if (budget.remaining() < times.deadline && !running) {
        // Its load may be aborted, so it must not be started again and again.
        if (now - callerLimitedAt < minAge) {
          if (usable) return usable.value
          throw fail('DEPENDENCY.timeout')
        }
        callerLimitedAt = now
      }
      try {
        return await loaded(budget)
      } catch (thrown) {
        if (usable && budget.signal.aborted) return usable.value
        throw thrown
      }
    },
  }
}

/** Rejects when the budget ends. */
function spent({ signal }: Budget): Promise<never> {
  return new Promise((_, reject) => {
    const end = () => reject(fail('DEPENDENCY.timeout'))
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
  })
}

/**
 * Returns a value that the process has loaded in the last 30 seconds, or loads it: hardly any request pays for it. A load
 * that fails is not remembered.
 */
export type Remember = <Value>(name: string, load: () => Promise<Value>) => Promise<Value>

/** How long a process uses what it remembers, in milliseconds. */
const rememberedMilliseconds = 30_000

/** Returns the memory of a process. */
export function processMemory(clock: Pick<Clock, 'now'>): Remember {
  const known = new Map<string, { value: unknown; at: number }>()
  return async <Value>(name: string, load: () => Promise<Value>) => {
    const at = clock.now()
    for (const [one, { at: loaded }] of known) {
      if (at - loaded < rememberedMilliseconds) break
      known.delete(one)
    }
    const found = known.get(name)
    if (found) return found.value as Value
    const value = await load()
    // The map is in the order of the loads, so the oldest values are the first.
    known.delete(name)
    known.set(name, { value, at })
    return value
  }
}

/** Returns a function that creates a value at its first call and returns the same value afterwards. */
export function lazy<Value>(create: () => Value): () => Value {
  let created: { value: Value } | undefined
  return () => {
    created ??= { value: create() }
    return created.value
  }
}
