import type { AttributeValue, ConsumedCapacity } from '@aws-sdk/client-dynamodb'

/** A call as the DynamoDB proxy records it. */
interface MeasuredCall {
  readonly operation: string
  readonly body: unknown
  readonly status?: number
  readonly consumed: readonly ConsumedCapacity[]
}

export interface Capacity {
  readonly requests: number
  readonly readUnits: number
  readonly writeUnits: number
  /** Calls without reported units, because they failed or did not request them. Above 0 the units are too low. */
  readonly unmeasured: number
}

type Item = Readonly<Record<string, AttributeValue>>
type TransactItem = Readonly<Record<string, { readonly Item?: Item }>>

const reading = new Set(['GetItem', 'BatchGetItem', 'Query', 'Scan', 'TransactGetItems'])
const bytesAUnit = 1024
/** Preparing and committing each cost as much as a plain write. */
const writesATransaction = 2

/**
 * Returns the total cost of the calls, tables and indexes included. `indexKeys` names the partition keys of the
 * indexes, each assumed to project less than a unit.
 */
export function capacityOf(calls: readonly MeasuredCall[], indexKeys: readonly string[] = []): Capacity {
  const measured = calls.filter(({ consumed }) => consumed.length > 0)
  const reads = measured.filter(({ operation }) => reading.has(operation))
  const writes = measured.filter(({ operation }) => !reading.has(operation))
  return {
    requests: calls.length,
    readUnits: sum(reads.map(reported)),
    writeUnits: sum(writes.map((call) => writeUnits(call, indexKeys))),
    unmeasured: calls.length - measured.length,
  }
}

/**
 * DynamoDB Local counts items of a transaction with equal cost once, so the sum over the request is used where it is
 * higher. That sum is exact for new items, and a lower bound for updates and deletions.
 */
function writeUnits(call: MeasuredCall, indexKeys: readonly string[]): number {
  if (call.operation !== 'TransactWriteItems') return reported(call)
  const { TransactItems } = call.body as { TransactItems: readonly TransactItem[] }
  return Math.max(reported(call), sum(TransactItems.map(({ Put }) => itemUnits(Put?.Item, indexKeys))))
}

const reported = ({ consumed }: MeasuredCall) => sum(consumed.map(({ CapacityUnits = 0 }) => CapacityUnits))

function itemUnits(put: Item | undefined, indexKeys: readonly string[]): number {
  if (!put) return writesATransaction
  const indexes = indexKeys.filter((key) => key in put).length
  return writesATransaction * (Math.ceil(itemBytes(put) / bytesAUnit) + indexes)
}

/** Returns the size that DynamoDB charges for: names and values, as documented by AWS. */
export function itemBytes(item: Item): number {
  return sum(Object.entries(item).map(([name, value]) => Buffer.byteLength(name) + valueBytes(value)))
}

function valueBytes(value: AttributeValue): number {
  if (value.S !== undefined) return Buffer.byteLength(value.S)
  if (value.N !== undefined) return numberBytes(value.N)
  if (value.B !== undefined) return Buffer.from(value.B as unknown as string, 'base64').length
  if (value.SS) return sum(value.SS.map((text) => Buffer.byteLength(text)))
  if (value.NS) return sum(value.NS.map(numberBytes))
  if (value.L) return 3 + value.L.length + sum(value.L.map(valueBytes))
  if (value.M) return 3 + Object.keys(value.M).length + itemBytes(value.M)
  return 1
}

/** About one byte for two significant digits, plus one. */
const numberBytes = (digits: string) => 1 + Math.ceil(digits.replace(/\D/g, '').length / 2)

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0)
