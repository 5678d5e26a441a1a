import type { ConsumedCapacity } from '@aws-sdk/client-dynamodb'
import type { Failure } from './dynamodb-failures.ts'

/** The fault of one call. */
export type Fault =
  /** The call takes effect, and the caller's connection is reset before the response. */
  | 'lose-answer'
  /** The connection is reset, and the call never takes effect. */
  | 'lose-request'
  /** The call takes effect, and its caller waits for the response until it gives up. */
  | 'no-answer'
  /** The caller waits until it gives up, and the call never takes effect. */
  | 'no-arrival'
  /** The call takes effect, and its response is held until release: the time to kill a process. */
  | 'hold'
  /** The call is held until release, and never takes effect if its caller is gone. */
  | 'hold-request'
  | Failure
  /** Something else happens first. Then the call takes effect. */
  | { readonly first: (call: Call) => unknown }
  /** The call takes effect once this resolves. Its caller gives up before. */
  | { readonly until: Promise<unknown> }

/** A call of the table; `index` counts all calls from 0. */
export interface Call {
  /** The name of DynamoDB's operation. */
  readonly operation: string
  readonly index: number
  readonly body: unknown
}

export interface RecordedCall extends Call {
  fault?: Fault
  /** DynamoDB's status, whether or not the caller received it; absent if the call did not reach DynamoDB. */
  status?: number
  /** One entry for each table, if the call requested ReturnConsumedCapacity. */
  consumed: readonly ConsumedCapacity[]
}

interface Plan {
  readonly when: (call: Call) => boolean
  /** The number of affected calls; 1 if absent, Infinity for all. */
  readonly times?: number
  readonly fault: Fault
}

export interface Injection {
  /** The number of calls affected so far. */
  readonly hits: number
  /** Resolves with the first affected call once the fault happened (for 'hold': after DynamoDB responded, for 'hold-request': before it is called). */
  readonly injected: Promise<RecordedCall>
  /** Releases all held and future calls. */
  readonly release: () => void
}

/** The faults of the calls of a table, on the wire or in memory. */
export interface Faults {
  readonly calls: readonly RecordedCall[]
  readonly inject: (plan: Plan) => Injection
  /** Clears all calls and plans. Held responses continue, and held requests are dropped. */
  readonly reset: () => void
}

/** A fault that affects a call. */
export interface ActiveFault {
  readonly fault: Fault
  readonly injected: PromiseWithResolvers<RecordedCall>
  /** Continues, or is dropped if it did not take effect yet. */
  readonly released: PromiseWithResolvers<'on' | 'dropped'>
}

interface Active extends ActiveFault {
  readonly plan: Plan
  hits: number
}

/** Records the calls of a table, and decides which of them fail. */
export class FaultPlans implements Faults {
  readonly calls: RecordedCall[] = []
  #active: Active[] = []

  /** Records a call. @returns the call, and its fault if it has one */
  record(operation: string, body: unknown): { call: RecordedCall; injectFault: ActiveFault | undefined } {
    const call: RecordedCall = { operation, index: this.calls.length, body, consumed: [] }
    this.calls.push(call)
    const injectFault = this.#active.find(({ plan, hits }) => hits < (plan.times ?? 1) && plan.when(call))
    if (injectFault) {
      injectFault.hits += 1
      call.fault = injectFault.fault
    }
    return { call, injectFault: injectFault }
  }

  readonly inject = (plan: Plan): Injection => {
    const entry: Active = {
      plan,
      fault: plan.fault,
      hits: 0,
      injected: Promise.withResolvers(),
      released: Promise.withResolvers(),
    }
    this.#active.push(entry)
    return {
      get hits() {
        return entry.hits
      },
      injected: entry.injected.promise,
      release: () => entry.released.resolve('on'),
    }
  }

  readonly reset = (): void => {
    // A request of a killed process must not take effect late. Its closed socket may be noticed only later.
    for (const { released } of this.#active) released.resolve('dropped')
    this.#active = []
    this.calls.length = 0
  }
}
