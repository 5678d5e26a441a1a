import type { Item, Key } from '#shared/platform/table/keys.ts'
import {
  type Change,
  type Range,
  type RangeRead,
  readCapacity,
  writeCapacity,
} from '#shared/platform/table/table.ts'
import { serviceError } from '#test/simulation/memory-store.ts'
import type { TableCall } from '#test/simulation/memory-table.ts'

/** The units of a partition key, a second, and the seconds of unused units that it keeps, as DynamoDB documents them. */
export const partitionUnits = { write: 1000, read: 3000 }
const creditSeconds = 300

const bytesOfUnit = { write: 1024, read: 4096 }

interface Bucket {
  units: number
  filledAt: number
}

interface Options {
  /** Milliseconds. */
  now: () => number
  /** The capacity of a partition key as a part of the real one. */
  scale: number
  /** The seconds of unused units that a partition has at its first use. */
  credit: number
}

/** The capacity of each partition key. Every key has a partition of its own, and none is split while it is hot. */
export class Capacity {
  readonly #options: Options
  readonly #buckets = new Map<string, Bucket>()

  constructor(options: Options) {
    this.#options = options
  }

  /** Runs a call of the store at the cost of its units. @throws the errors of DynamoDB for a call that is throttled */
  run<Result>({ name, changes, input, effect }: TableCall<Result>): Result {
    if (changes.length > 0) {
      this.#write(name, changes)
      return effect()
    }
    const partitions = partitionsRead(name, input)
    if (partitions.some((partition) => this.#level('read', partition).units <= 0)) throw throttled()
    const result = effect()
    const units = unitsOf('read', result)
    for (const partition of partitions) this.#level('read', partition).units -= units / partitions.length
    return result
  }

  /** Takes the units of changes, also if their conditions fail. A throttled item takes none. */
  #write(name: string, changes: readonly Change[]): void {
    const factor = name === 'transact' ? 2 : 1
    const reasons = changes.map((change) => {
      const bucket = this.#level('write', writeCapacity(change))
      const units = factor * unitsOf('write', 'item' in change ? change.item : undefined)
      if (bucket.units < units) return { Code: 'ThrottlingError' }
      bucket.units -= units
      return { Code: 'None' }
    })
    if (reasons.every(({ Code }) => Code === 'None')) return
    if (name !== 'transact') throw throttled()
    throw serviceError('TransactionCanceledException', { CancellationReasons: reasons })
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

function partitionsRead(name: string, input: unknown): string[] {
  if (name === 'read-range') return [readCapacity((input as Range).partition)]
  if (name === 'find-by-id') return [readCapacity(String(input))]
  return [input as Key | Key[]].flat().map(({ pk }) => readCapacity(pk))
}

/** Returns the units of what is written or read. JSON is about as long as DynamoDB counts it. */
function unitsOf(kind: 'write' | 'read', value: unknown): number {
  const items = (value as RangeRead | undefined)?.items ?? (value as Item | undefined)
  return Math.max(1, Math.ceil((JSON.stringify(items)?.length ?? 0) / bytesOfUnit[kind]))
}
