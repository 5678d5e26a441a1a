import type { Item } from '#shared/platform/table/keys.ts'
import { type Change, keyOfChange, writeCapacity } from '#shared/platform/table/table.ts'
import { capacitiesRead, readUnits, writeUnits } from './call-units.ts'
import { type MemoryStore, serviceError } from './memory-store.ts'
import type { TableCall } from './memory-table.ts'

/** The units of a partition key, a second, and the seconds of unused units that it keeps, as DynamoDB documents them. */
export const partitionUnits = { write: 1000, read: 3000 }
const creditSeconds = 300

/** The part of a call that its units depend on. */
export type AdmittedCall = Pick<TableCall<unknown>, 'name' | 'changes' | 'input'>

interface Bucket {
  units: number
  filledAt: number
}

export interface CapacityOptions {
  store: Pick<MemoryStore, 'get'>
  /** Milliseconds. */
  now: () => number
  /** The capacity of a partition key as a part of the real one. */
  scale: number
  /** The seconds of unused units that a partition has at its first use. */
  credit: number
}

/**
 * The capacity of each partition key of a table. A test requests it: `(call) => capacity.run(call)` is a transit of
 * `memoryTable`, and `throttling` limits a proxy of DynamoDB Local. Every key has a partition of its own, and none is split
 * while it is hot.
 */
export class Capacity {
  /** The units that calls have used, by the names of `readCapacity` and `writeCapacity`. */
  readonly used = new Map<string, number>()
  readonly #options: CapacityOptions
  readonly #buckets = new Map<string, Bucket>()

  constructor(options: CapacityOptions) {
    this.#options = options
  }

  /** Runs a call of the store at the cost of its units. @throws the errors of DynamoDB for a call that is throttled */
  run<Result>(call: TableCall<Result>): Result {
    const takeRest = this.admit(call)
    const result = call.effect()
    takeRest(result)
    return result
  }

  /**
   * Takes the units of a call that are known before its effect.
   * @returns what takes the other units after it, from its result @throws the errors of DynamoDB for a call that is throttled
   */
  admit({ name, changes, input }: AdmittedCall): (result: unknown) => void {
    const inserted = name === 'insert-many' ? (input as Item[]) : []
    const writes = [...changes, ...inserted.map((item) => ({ item, condition: 'none' as const }))]
    return writes.length > 0 ? this.#write(name, writes) : this.#read(name, input)
  }

  /** Takes the units of the larger of an item before and after a change, also if the condition fails. */
  #write(name: string, changes: readonly Change[]): () => void {
    const factor = name === 'transact' ? 2 : 1
    const taken = changes.map((change) => {
      const present = this.#options.store.get(keyOfChange(change))
      return factor * Math.max(writeUnits(present), 'item' in change ? writeUnits(change.item) : 0)
    })
    const reasons = changes.map((change, index) => {
      const capacity = writeCapacity(change)
      // A throttled item takes no units; the others of its transaction do.
      if (this.#level('write', capacity).units < (taken[index] ?? 0)) return { Code: 'ThrottlingError' }
      this.#take('write', capacity, taken[index] ?? 0)
      return { Code: 'None' }
    })
    if (reasons.some(({ Code }) => Code !== 'None')) {
      if (name !== 'transact') throw throttled()
      throw serviceError('TransactionCanceledException', { CancellationReasons: reasons })
    }
    return () =>
      changes.forEach((change, index) => {
        if (!('update' in change)) return
        const grown = factor * writeUnits(this.#options.store.get(change.update)) - (taken[index] ?? 0)
        if (grown > 0) this.#take('write', writeCapacity(change), grown)
      })
  }

  /** A partition whose units are not used up admits a read of any size. */
  #read(name: string, input: unknown): (result: unknown) => void {
    const capacities = capacitiesRead({ name, input })
    if (capacities.some((capacity) => this.#level('read', capacity).units <= 0)) throw throttled()
    return (result) => {
      for (const [index, capacity] of capacities.entries())
        this.#take('read', capacity, readUnits({ name, input }, result, index))
    }
  }

  #take(kind: 'write' | 'read', capacity: string, units: number): void {
    this.#level(kind, capacity).units -= units
    this.used.set(capacity, (this.used.get(capacity) ?? 0) + units)
  }

  #level(kind: 'write' | 'read', capacity: string): Bucket {
    const { now, scale, credit } = this.#options
    const rate = partitionUnits[kind] * scale
    const bucket = this.#buckets.get(capacity) ?? { units: rate * Math.max(1, credit), filledAt: now() }
    bucket.units = Math.min(rate * creditSeconds, bucket.units + (rate * (now() - bucket.filledAt)) / 1000)
    bucket.filledAt = now()
    this.#buckets.set(capacity, bucket)
    return bucket
  }
}

const throttled = () => serviceError('ProvisionedThroughputExceededException')

/** Returns whether an error of `run` is a throttle, and not a failed condition. */
export function isThrottle(thrown: unknown): boolean {
  const { name, CancellationReasons: reasons = [] } = thrown as Error & {
    CancellationReasons?: { Code: string }[]
  }
  return name === throttled().name || reasons.some(({ Code }) => Code === 'ThrottlingError')
}
