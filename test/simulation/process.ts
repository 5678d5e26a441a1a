import type { Clock } from '#shared/platform/base/clock.ts'
import type { Settings } from '#shared/settings/register.ts'
import { serviceError } from './memory-store.ts'
import type { Random } from './random.ts'
import type { Scheduler } from './scheduler.ts'

/** What can go wrong with a call of another service. */
export const faultKinds = [
  'lost-request',
  'lost-response',
  'throttled',
  'slow',
  'late',
  'conflict',
  'partial',
  'crash-before',
  'crash-after',
  'freeze',
] as const
export type FaultKind = (typeof faultKinds)[number]

/** The faults of a schedule: how often each kind affects a call, and the calls that are spared. */
export interface Faults {
  rates: Partial<Record<FaultKind, number>>
  /** `<process>#<call>`; for shrinking. */
  spared: ReadonlySet<string>
  /** False once all faults have ended. */
  active: boolean
  /** The faults that took effect. */
  injected: { id: string; kind: FaultKind; call: string }[]
}

/** A call of another service. */
interface PortCall<Result> {
  name: string
  /** Takes effect at once, or throws the error of the service. */
  effect: () => Result
  /** The effect if it conflicts with other work, or if only a part is done. Without it, the fault does not apply. */
  conflict?: (() => Result) | undefined
  partial?: (() => Result) | undefined
  /** Milliseconds that the caller waits. */
  timeoutMilliseconds: number
}

const latencies = [1, 2, 3, 5, 8, 13, 40]
const resetDelay = 5
const maxLateness = 40_000
const maxFreeze = 240_000

/** A process of the service: one invocation of a function, on a machine with its own clock. It may die or freeze. */
export class Process {
  readonly name: string
  readonly settings: Settings
  readonly clock: Clock
  /** Called when the process dies. */
  onCrash: () => void = () => {}
  alive = true
  readonly #scheduler: Scheduler
  readonly #faults: Faults
  /** The name of the function that it runs. */
  readonly runs: string
  readonly #luck: Random
  #frozenUntil = 0
  #calls = 0

  constructor(
    name: string,
    options: {
      runs: string
      scheduler: Scheduler
      random: Random
      faults: Faults
      settings: Settings
      /** The difference of its clock, in milliseconds. */
      skew: number
    },
  ) {
    const { runs, scheduler, random, faults, settings, skew } = options
    this.name = name
    this.runs = runs
    this.settings = settings
    this.#scheduler = scheduler
    this.#faults = faults
    this.#luck = random.fork(`${name} faults`)
    const own = random.fork(name)
    this.clock = {
      now: () => Math.floor(scheduler.now) + skew,
      sleep: (milliseconds) =>
        new Promise((resolve) => scheduler.after(milliseconds, () => this.#deliver(resolve))),
      jitter: () => own.next(),
      randomBytes: (length) => own.bytes(length),
    }
  }

  /** Calls another service. Each call is a scheduling point, at which the process may die, freeze or see a fault. */
  call<Result>(call: PortCall<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const scheduler = this.#scheduler
      const there = this.#luck.pick(latencies)
      const back = this.#luck.pick(latencies)
      const fault = this.#faultOf(call)
      const fails = (name: string, delay: number, more: object = {}) =>
        scheduler.after(delay, () => this.#deliver(() => reject(serviceError(name, more))))

      if (fault === 'crash-before') return void scheduler.after(there, () => this.crash())
      if (fault === 'lost-request')
        return fails('NetworkingError', there + resetDelay, { code: 'ECONNRESET' })
      if (fault === 'throttled') return fails('ThrottlingException', there + back)
      if (fault === 'late') {
        fails('TimeoutError', Math.min(call.timeoutMilliseconds, 3000))
        const lateness = this.#luck.next() * maxLateness
        return void scheduler.after(
          lateness,
          () => {
            this.#note(call, 'takes effect late')
            attempt(call.effect)
          },
          true,
        )
      }
      const travel = fault === 'slow' ? 50 + this.#luck.next() * 2500 : there
      scheduler.after(
        travel,
        () => {
          const effect =
            fault === 'conflict' ? call.conflict : fault === 'partial' ? call.partial : call.effect
          const outcome = attempt(effect ?? call.effect)
          this.#note(call, 'thrown' in outcome ? nameOf(outcome.thrown) : 'done')
          if (fault === 'crash-after') return scheduler.after(back, () => this.crash())
          if (fault === 'lost-response') return fails('NetworkingError', back, { code: 'ECONNRESET' })
          if (travel + back > call.timeoutMilliseconds)
            return fails('AbortError', Math.max(0, call.timeoutMilliseconds - travel))
          if (fault === 'freeze') this.#frozenUntil = scheduler.now + 1000 + this.#luck.next() * maxFreeze
          scheduler.after(back, () =>
            this.#deliver(() => ('thrown' in outcome ? reject(outcome.thrown) : resolve(outcome.result))),
          )
        },
        true,
      )
    })
  }

  /** Ends the process: whatever it waits for never resumes it. */
  crash(): void {
    if (!this.alive) return
    this.alive = false
    this.#scheduler.note(this.name, 'dies')
    this.onCrash()
  }

  /** Lets work on Node's own threads end before anything else happens. */
  native<T>(work: Promise<T>): Promise<T> {
    return this.#scheduler.native(work)
  }

  #deliver(resume: () => void): void {
    if (!this.alive) return
    const left = this.#frozenUntil - this.#scheduler.now
    if (left > 0) this.#scheduler.after(left, () => this.#deliver(resume))
    else resume()
  }

  #faultOf({ name, conflict, partial }: PortCall<unknown>): FaultKind | undefined {
    this.#calls += 1
    const { rates, spared, active, injected } = this.#faults
    const drawn = this.#luck.next()
    if (!active) return undefined
    let below = 0
    for (const kind of faultKinds) {
      below += rates[kind] ?? 0
      if (drawn >= below) continue
      const applies = (kind !== 'conflict' || conflict) && (kind !== 'partial' || partial)
      const id = `${this.name}#${this.#calls}`
      if (!applies || spared.has(id)) return undefined
      injected.push({ id, kind, call: name })
      this.#scheduler.note(this.name, `${name}: FAULT ${kind}`)
      return kind
    }
    return undefined
  }

  #note({ name }: PortCall<unknown>, outcome: string): void {
    this.#scheduler.note(this.name, `${name}: ${outcome}`)
  }
}

function attempt<Result>(effect: () => Result): { result: Result } | { thrown: unknown } {
  try {
    return { result: effect() }
  } catch (thrown) {
    return { thrown }
  }
}

function nameOf(thrown: unknown): string {
  return (thrown as Error).name
}
