import type { DynamoDBClient, TransactWriteItem } from '@aws-sdk/client-dynamodb'
import type { Remember } from '#shared/platform/base/cached-load.ts'
import type { Settings } from '#shared/settings/register.ts'
import { startDynamodbProxy } from '#test/faults/dynamodb-proxy.ts'
import type { RecordedCall } from '#test/faults/faults.ts'
import { capacityOf } from '#test/support/capacity.ts'
import { testClient } from '#test/support/dynamodb-client.ts'
import { type Answer, type Call, type Service, startService } from '#test/support/service.ts'
import { profile } from '#test/support/settings.ts'

/** The cost of one request at DynamoDB. */
export interface Cost {
  request: string
  /** Absent for work without a response. */
  status: number | undefined
  requests: number
  readUnits: number
  /** Write units of the table. Writes of a transaction count twice. */
  tableWriteUnits: number
  /** Entries written to the index by id: one unit each, because the index is updated outside the transaction. */
  indexEntries: number
}

/** Measures one request after another and records their costs. */
export interface Meter {
  service: Service
  /** Accesses the table directly, unmeasured. */
  client: DynamoDBClient
  costs: Cost[]
  measure(request: string, call: Call): Promise<Answer>
  /** Background work on the measured table. */
  measureWork(name: string, work: () => Promise<unknown>): Promise<void>
}

/** Runs the service on a DynamoDB whose calls are counted. */
export async function metered(
  endpoint: string,
  run: (meter: Meter) => Promise<void>,
  changes: Partial<Settings> = {},
): Promise<Cost[]> {
  const proxy = await startDynamodbProxy(endpoint)
  try {
    const service = await startService({
      // Read now, once the fake payment provider runs.
      settings: profile('shared/settings/profiles/local.json', changes),
      client: measuring(testClient(proxy.endpoint)),
      remember: lastingMemory(),
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

/** What a process remembers for 30 seconds costs hardly any request a read: here it lasts, so no time decides which one pays. */
function lastingMemory(): Remember {
  const known = new Map<string, unknown>()
  return async <Value>(name: string, load: () => Promise<Value>) => {
    if (!known.has(name)) known.set(name, await load())
    return known.get(name) as Value
  }
}

/**
 * DynamoDB Local reports table and index of a transaction together, and items of equal cost once. So the units of the
 * table are calculated from the items.
 */
function onTheTable(call: RecordedCall): RecordedCall {
  if (call.operation !== 'TransactWriteItems') return call
  return { ...call, consumed: call.consumed.map((one) => ({ ...one, CapacityUnits: 0 })) }
}

/** Requests the consumed capacity with every call, which the service does not need. */
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

/** New and deleted items change their entry in the index by id; a changed item keeps its entry. */
function entriesOf(body: unknown): number {
  const { TransactItems = [] } = body as { TransactItems?: TransactWriteItem[] }
  return TransactItems.filter(({ Put, Delete }) => {
    const made = Put?.Item?.id && Put.ConditionExpression === 'attribute_not_exists(pk)'
    return made || Delete?.Key?.pk?.S?.startsWith('code#')
  }).length
}
