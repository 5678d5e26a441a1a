import { maxThrottled, retry, waitBeforeRetry } from '#shared/platform/aws/retry.ts'
import { newId } from '#shared/platform/base/clock.ts'
import { fail } from '#shared/platform/base/failure.ts'
import { type Item, type Key, ownerOf } from '#shared/platform/table/keys.ts'
import {
  type Change,
  isReadCapacity,
  type Refusal,
  readCapacity,
  type Table,
  type TableAccess,
  writeCapacity,
} from '#shared/platform/table/table.ts'
import { unitsRead } from './call-units.ts'
import type { MemoryStore } from './memory-store.ts'

/** A call of the store in transit: it may be delayed, lost before or after its effect, or rejected. */
export type Transit = <Result>(call: TableCall<Result>) => Promise<Result>

export interface TableCall<Result> {
  name: string
  changes: readonly Change[]
  /** The keys, range, id or items of the call. */
  input: unknown
  /** How long the caller waits. */
  milliseconds: number
  effect: () => Result
  /** The effect if another transaction is working on the first item of the changes or on the last one. */
  conflict?: (which: 'first' | 'last') => Result
  /** The result if the table does only a part of a batch. */
  partial?: () => Result
}

const direct: Transit = async ({ effect }) => effect()

/**
 * The table API of the platform on a store in memory. As on DynamoDB, calls are retried within the budget, and batches
 * until nothing of them is left.
 */
export function memoryTable(store: MemoryStore, access: TableAccess, transit: Transit = direct): Table {
  const { clock, budget, units } = access
  const send = async <Result>(
    call: Omit<TableCall<Result>, 'changes' | 'milliseconds'> & { changes?: readonly Change[] },
    capacities: readonly string[] = (call.changes ?? []).map(writeCapacity),
  ) => {
    const sent = (milliseconds: number) => transit({ ...call, changes: call.changes ?? [], milliseconds })
    const result = await retry(sent, capacities, access)
    if (units && isReadCapacity(capacities)) units.read += unitsRead(call, result)
    return result
  }

  async function changeOne(name: string, change: Change): Promise<Refusal | undefined> {
    try {
      await send({ name, input: change, changes: [change], effect: () => store.put(change) })
      return undefined
    } catch (thrown) {
      const { name: errorName, Item: existing } = thrown as { name: string; Item?: Item }
      if (errorName !== 'ConditionalCheckFailedException') throw thrown
      return { index: 0, existing }
    }
  }

  return {
    get: (key) => send({ name: 'get', input: key, effect: () => store.get(key) }, [readCapacity(key.pk)]),

    readRange(range) {
      if (range.low > range.high) return Promise.resolve({ items: [], exhausted: true })
      const call = {
        name: 'read-range',
        input: range,
        effect: () => store.readRange(range),
        // A page may end early, and also where nothing is left.
        partial() {
          const { items } = store.readRange({ ...range, limit: Math.ceil(range.limit / 2) })
          return { items, exhausted: items.length === 0 }
        },
      }
      return send(call, [readCapacity(range.partition)])
    },

    async findById(entity, id) {
      const call = { name: 'find-by-id', input: id, effect: () => store.findIndexed(id) }
      const keys = await send(call, [readCapacity(id)])
      return keys.find(({ pk }) => ownerOf(pk).kind === entity)
    },

    async getMany(keys) {
      const found: Item[] = []
      let left: readonly Key[] = keys
      for (let again = 0, idle = 0; left.length > 0; again += 1) {
        if (idle === maxThrottled) throw fail('DEPENDENCY.unavailable')
        if (again > 0) await waitBeforeRetry(clock, budget, again)
        const asked = left
        const call = {
          name: 'get-many',
          input: asked,
          effect: () => ({ items: store.getMany(asked), count: asked.length }),
          partial: () => ({ items: store.getMany(asked.slice(1)), count: asked.length - 1 }),
        }
        const partitions = asked.map(({ pk }) => readCapacity(pk))
        const done = await send(call, partitions)
        found.push(...done.items)
        idle = done.count > 0 ? 0 : idle + 1
        left = asked.slice(0, asked.length - done.count)
      }
      return found
    },

    async transact(changes) {
      const token = newId(clock)
      try {
        await send({
          name: 'transact',
          input: changes,
          changes,
          effect: () => store.transact(changes, token),
          conflict: (which) => store.transact(changes, token, [which === 'first' ? 0 : changes.length - 1]),
        })
        return undefined
      } catch (thrown) {
        return refusalOf(thrown)
      }
    },

    put: (put) => changeOne('put', put),
    update: (update) => changeOne('update', update),

    async insertMany(items) {
      const known: Item[] = []
      let left = items
      for (let again = 0; left.length > 0; again += 1) {
        if (again > 0) await waitBeforeRetry(clock, budget, again)
        const asked = left
        const call = {
          name: 'insert-many',
          input: asked,
          effect: () => store.insertMany(asked),
          partial: () => store.insertMany(asked.slice(1)),
        }
        const capacities = asked.map((item) => writeCapacity({ item, condition: 'none' }))
        const done = await send(call, capacities)
        const tried = asked.slice(asked.length - done.length)
        known.push(...tried.filter((_, index) => done[index]))
        left = asked.slice(0, asked.length - done.length)
      }
      return known
    },
  }
}

function refusalOf(thrown: unknown): Refusal {
  const { name, CancellationReasons: reasons = [] } = thrown as {
    name: string
    CancellationReasons?: { Code: string; Item?: Item }[]
  }
  const index = reasons.findIndex(({ Code }) => Code === 'ConditionalCheckFailed')
  if (name !== 'TransactionCanceledException' || index < 0) throw thrown
  return { index, existing: reasons[index]?.Item }
}
