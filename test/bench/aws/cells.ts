import { reservedConcurrency, stageNamed } from '#lib/stage.ts'
import { localSettings } from '#test/support/settings.ts'
import { assumed, type MeasuredRequest } from './request-costs.ts'

/** A limit of a cell: its default quota, and what one request of the mix uses of it. */
interface CellLimit {
  what: string
  /** Default quota of an account and region in us-east-1, a second. */
  quota: number
  perRequest: number
  response: string
}

const secondsOfMonth = 43_800 * 60
/** The share of orders in the mix: one order, two reads of an order and one list. */
const orderShare = 0.25
/** The write units that DynamoDB takes for one partition key, a second. */
const partitionUnits = 1000
/** An item of up to 1 KB in a transaction. */
const orderUnitsOfPartition = 2
/** The write units a second of a new table. */
export const coldTableUnits = 4000
/** The default quota of concurrent executions. */
export const accountExecutions = 1000
/** The executions that `prod` reserves for functions that wait for others. Requests of the mix share the rest. */
export const reservedExecutions = Object.values(
  reservedConcurrency(stageNamed('prod'), localSettings) ?? {},
).reduce((sum, one) => sum + one, 0)

/** Returns the limits of one stack, from the units of its requests. The smallest is first. */
export function cellLimits(requests: readonly MeasuredRequest[]): CellLimit[] {
  const unitsOf = (name: string) => {
    const found = requests.find(({ request }) => request === name)
    if (!found) throw new Error(`the benchmark has no request "${name}"`)
    return found
  }
  const create = unitsOf('create an order')
  const readUnits = 2 * unitsOf('read it').readUnits + unitsOf('list page 1 of 25').readUnits
  const limits: CellLimit[] = [
    {
      what: 'write units of a new table',
      quota: coldTableUnits,
      perRequest: create.writeUnits * orderShare,
      response: 'warm it: `storage.warmThroughput`',
    },
    {
      what: 'requests of the gateway',
      quota: 10_000,
      perRequest: 1,
      response: 'raise the quota and `limits.gateway`',
    },
    {
      what: 'events put on the bus',
      quota: 10_000,
      perRequest: assumed.orderEvents * orderShare,
      response: 'raise the quota',
    },
    {
      what: 'write units of a table',
      quota: 40_000,
      perRequest: create.writeUnits * orderShare,
      response: 'raise the quota',
    },
    {
      what: 'read units of a table',
      quota: 40_000,
      perRequest: readUnits * orderShare,
      response: 'raise the quota',
    },
    {
      what: 'concurrent executions without a reservation',
      quota: accountExecutions - reservedExecutions,
      perRequest: assumed.milliseconds / 1000,
      response: 'raise the quota and `limits.concurrency`',
    },
  ]
  return limits.toSorted((one, other) => reachedAt(one) - reachedAt(other))
}

/** Returns the requests of the mix a second at which a limit is reached. */
export function reachedAt({ quota, perRequest }: CellLimit): number {
  return quota / perRequest
}

/** Returns the orders a month at a number of requests a second. */
export function ordersOfMonth(requestsPerSecond: number): number {
  return requestsPerSecond * orderShare * secondsOfMonth
}

/** Returns the orders a second that a tenant can create in so many partitions. */
export function ordersOfTenant(shards: number): number {
  return (shards * partitionUnits) / orderUnitsOfPartition
}

/** Returns the hours of a copy of so many orders at a rate of write units. Each is an item and an entry of the index. */
export function hoursOfCopy(orders: number, writeUnitsPerSecond: number): number {
  return (orders * 2) / writeUnitsPerSecond / 3600
}
