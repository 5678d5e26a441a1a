import type { DynamoDBClient, TransactWriteItem } from '@aws-sdk/client-dynamodb'
import { type RecordedCall, startDynamodbProxy } from '#test/faults/dynamodb-proxy.ts'
import { capacityOf } from '#test/support/capacity.ts'
import { testClient } from '#test/support/dynamodb-client.ts'
import { type Answer, type Call, type Service, startService } from '#test/support/service.ts'
import { profile } from '#test/support/settings.ts'

/** What one request costs at DynamoDB. */
export interface Cost {
  request: string
  /** Absent for work that answers nobody. */
  status: number | undefined
  requests: number
  readUnits: number
  /** On the table; a transaction's writes count twice. */
  tableWriteUnits: number
  /** Entries written to the index by id: a unit each, as the index follows the table outside the transaction. */
  indexEntries: number
}

/** Measures one request after another, and keeps what each cost. */
export interface Meter {
  service: Service
  /** Straight to the table, unmeasured. */
  client: DynamoDBClient
  costs: Cost[]
  measure(request: string, call: Call): Promise<Answer>
  /** Work that no request asks for, on the measured table. */
  measureWork(name: string, work: () => Promise<unknown>): Promise<void>
}

/** Runs the service against a DynamoDB whose calls are counted. */
export async function metered(endpoint: string, run: (meter: Meter) => Promise<void>): Promise<Cost[]> {
  const proxy = await startDynamodbProxy(endpoint)
  try {
    const service = await startService({
      // Read now, when the double of the payment provider is there.
      settings: profile('shared/settings/profiles/local.json'),
      client: measuring(testClient(proxy.endpoint)),
    })
    const costs: Cost[] = []
    const keep = (request: string, status: number | undefined): void => {
      const { requests, readUnits, writeUnits } = capacityOf(proxy.calls.map(onTheTable))
      const indexEntries = proxy.calls
        .filter(({ status }) => status === 200)
        .reduce((entries, { body }) => entries + entriesOf(body), 0)
      costs.push({
        request,
        status,
        requests,
        readUnits,
        tableWriteUnits: writeUnits,
        indexEntries,
      })
    }
    const measure = async (request: string, call: Call): Promise<Answer> => {
      proxy.reset()
      const answer = await service.call(call)
      keep(request, answer.status)
      return answer
    }
    const measureWork = async (name: string, work: () => Promise<unknown>): Promise<void> => {
      proxy.reset()
      await work()
      keep(name, undefined)
    }
    await run({ service, client: testClient(endpoint), costs, measure, measureWork })
    return costs
  } finally {
    await proxy.stop()
  }
}

/**
 * Of a transaction DynamoDB Local reports the table and the index together, and items of equal cost once: the
 * units on the table are summed up from the items instead.
 */
function onTheTable(call: RecordedCall): RecordedCall {
  if (call.operation !== 'TransactWriteItems') return call
  return { ...call, consumed: call.consumed.map((one) => ({ ...one, CapacityUnits: 0 })) }
}

/** Asks for the consumed capacity with every call, which the service itself has no use for. */
function measuring(client: DynamoDBClient): DynamoDBClient {
  client.middlewareStack.add(
    (next) => (args) => {
      Object.assign(args.input, { ReturnConsumedCapacity: 'TOTAL' })
      return next(args)
    },
    { step: 'initialize' },
  )
  return client
}

/** New items, and those that go, have an entry in the index by id; a changed one keeps the entry that it has. */
function entriesOf(body: unknown): number {
  const { TransactItems = [] } = body as { TransactItems?: TransactWriteItem[] }
  return TransactItems.filter(({ Put, Delete }) => {
    const made = Put?.Item?.id && Put.ConditionExpression === 'attribute_not_exists(pk)'
    return made || Delete?.Key?.pk?.S?.startsWith('code#')
  }).length
}
