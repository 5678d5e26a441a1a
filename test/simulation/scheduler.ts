interface Event {
  at: number
  order: number
  run: () => void
  /** Resumes nobody. */
  quiet: boolean
}

/** A turn of Node's loop costs more than an event. */
const immediatesAtOnce = 64

/** Whether a scheduler of the process runs. */
let isRunning = false

/**
 * Virtual time. Events run one after another, by their time, and each runs until everything that it caused waits for a
 * later event. Nothing else in the process decides who runs next.
 */
export class Scheduler {
  /** Milliseconds since 1970. */
  now: number
  /** The descriptions of all events, if they are recorded. */
  readonly timeline: string[] | undefined
  readonly #startedAt: number
  readonly #heap: Event[] = []
  readonly #native = new Set<Promise<unknown>>()
  #order = 0
  #failed: { thrown: unknown } | undefined

  constructor(now: number, recorded: boolean) {
    this.now = now
    this.#startedAt = now
    this.timeline = recorded ? [] : undefined
  }

  /** Runs something after a delay, in milliseconds. @param quiet it resumes nobody, so the next event need not wait */
  after(delay: number, run: () => void, quiet = false): void {
    this.#order += 1
    push(this.#heap, { at: this.now + delay, order: this.#order, run, quiet })
  }

  sleep(milliseconds: number): Promise<void> {
    return new Promise((resolve) => this.after(milliseconds, resolve))
  }

  /** Waits for work on Node's own threads before the next event runs, because its duration is not decided here. */
  async native<T>(work: Promise<T>): Promise<T> {
    this.#native.add(work)
    try {
      return await work
    } finally {
      this.#native.delete(work)
    }
  }

  note(actor: string, description: string): void {
    this.timeline?.push(
      `${String(Math.floor(this.now - this.#startedAt)).padStart(8)} ms  ${actor}: ${description}`,
    )
  }

  /** Ends the run with an error. */
  fail(thrown: unknown): void {
    this.#failed ??= { thrown }
  }

  /**
   * Runs events until the work has ended. The clock of the machine ends no call: budgets and their signals follow virtual time.
   * @throws its error, or one that was passed to `fail`; Error while another one of the process runs
   */
  async runUntil(work: Promise<unknown>): Promise<void> {
    // The second to end would leave the stand-in of the first to all tests that follow in the process.
    if (isRunning) throw new Error('another scheduler runs in this process')
    isRunning = true
    const { timeout } = AbortSignal
    AbortSignal.timeout = () => new AbortController().signal
    try {
      await this.#runUntil(work)
    } finally {
      AbortSignal.timeout = timeout
      isRunning = false
    }
  }

  async #runUntil(work: Promise<unknown>): Promise<void> {
    let ended = false
    work.then(
      () => (ended = true),
      (thrown) => this.fail(thrown),
    )
    const isOver = () => ended || this.#failed !== undefined
    const runNext = () => {
      if (!isOver() && this.#native.size === 0) this.#runNext()
    }
    while (!isOver()) {
      // All microtasks run before the next immediate. Work on another thread ends first, too.
      for (let at = 0; at < immediatesAtOnce; at += 1) setImmediate(runNext)
      await new Promise((resolve) => setImmediate(resolve))
      await Promise.allSettled(this.#native)
    }
    if (this.#failed) throw this.#failed.thrown
  }

  /** Runs the next event, and the quiet ones before it. */
  #runNext(): void {
    try {
      for (let isQuiet = true; isQuiet; ) {
        const event = pop(this.#heap)
        if (!event) throw new Error('nothing happens any more, and the schedule has not ended')
        this.now = Math.max(this.now, event.at)
        event.run()
        isQuiet = event.quiet
      }
    } catch (thrown) {
      this.fail(thrown)
    }
  }
}

function isBefore(one: Event, other: Event): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order)
}

function push(heap: Event[], event: Event): void {
  let at = heap.length
  while (at > 0) {
    const parent = (at - 1) >> 1
    if (!isBefore(event, heap[parent] as Event)) break
    heap[at] = heap[parent] as Event
    at = parent
  }
  heap[at] = event
}

function pop(heap: Event[]): Event | undefined {
  const first = heap[0]
  const last = heap.pop()
  if (!last || heap.length === 0) return first
  let at = 0
  for (;;) {
    let child = 2 * at + 1
    if (child + 1 < heap.length && isBefore(heap[child + 1] as Event, heap[child] as Event)) child += 1
    if (child >= heap.length || !isBefore(heap[child] as Event, last)) break
    heap[at] = heap[child] as Event
    at = child
  }
  heap[at] = last
  return first
}
