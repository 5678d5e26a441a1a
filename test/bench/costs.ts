import { BatchWriteItemCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { marshall } from '@aws-sdk/util-dynamodb'
import { systemClock, timestamp } from '#shared/platform/clock.ts'
import { uuidV7 } from '#shared/platform/ids/uuid-v7.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import { type RecordedCall, startDynamodbProxy } from '#test/faults/dynamodb-proxy.ts'
import { capacityOf } from '#test/support/capacity.ts'
import { testClient } from '#test/support/dynamodb-client.ts'
import { type Answer, type Call, startService } from '#test/support/service.ts'

/** What one request costs at DynamoDB. */
export interface Cost {
  request: string
  status: number
  requests: number
  readUnits: number
  /** On the table; a transaction's writes count twice. */
  tableWriteUnits: number
  /** Entries written to the index by id: a unit each, as the index follows the table outside the transaction. */
  indexEntries: number
}

const order = { cart_id: 'cart-0123456789abcdef', amount_minor: 1999, currency: 'EUR' }
const editor = { tenant: 'acme', role: 'Editor' }

/** Measures the cost of each kind of request; deterministic but for the time in the ids. */
export async function measureCosts(endpoint: string, pageSize: number, pages: number): Promise<Cost[]> {
  const proxy = await startDynamodbProxy(endpoint)
  try {
    const client = measuring(testClient(proxy.endpoint))
    const service = await startService({ client })
    const direct = testClient(endpoint)
    await fill(direct, service.tableName, 'walked', pageSize * pages)
    const costs: Cost[] = []
    const measure = async (request: string, call: Call): Promise<Answer> => {
      proxy.reset()
      const answer = await service.call(call)
      const { requests, readUnits, writeUnits } = capacityOf(proxy.calls.map(onTheTable))
      const indexEntries = proxy.calls
        .filter(({ status }) => status === 200)
        .flatMap(({ body }) => entriesOf(body)).length
      costs.push({
        request,
        status: answer.status,
        requests,
        readUnits,
        tableWriteUnits: writeUnits,
        indexEntries,
      })
      return answer
    }
    const create = {
      method: 'POST',
      path: '/v1/orders',
      as: editor,
      headers: { 'Idempotency-Key': 'k' },
      body: order,
    }
    const { json } = await measure('create an order', create)
    await measure('replay it', create)
    await measure('read it', { path: `/v1/orders/${json.id}`, as: editor })
    await measure('read it as an Admin of another tenant', {
      path: `/v1/orders/${json.id}`,
      as: { tenant: 'head', role: 'Admin' },
    })
    await measure('read another tenant’s', {
      path: `/v1/orders/${json.id}`,
      as: { tenant: 'rival', role: 'Viewer' },
    })
    await measure('be denied by role', { ...create, as: { tenant: 'acme', role: 'Viewer' } })
    await measure('ask for health', { path: '/health' })

    const walked = { tenant: 'walked', role: 'Viewer' }
    const list = `/v1/orders?page_size=${pageSize}`
    let page = await measure(`list page 1 of ${pageSize}`, { path: list, as: walked })
    for (let number = 2; number < pages; number += 1) {
      page = await service.call({ path: `${list}&cursor=${page.json.next_cursor}`, as: walked })
    }
    await measure(`list page ${pages}`, { path: `${list}&cursor=${page.json.next_cursor}`, as: walked })
    await measure('list, filtered to nothing', { path: `${list}&status=paid`, as: walked })
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

function entriesOf(body: unknown): unknown[] {
  const { TransactItems = [] } = body as { TransactItems?: { Put?: { Item?: { id?: unknown } } }[] }
  return TransactItems.filter(({ Put }) => Put?.Item?.id !== undefined)
}

async function fill(client: DynamoDBClient, table: string, tenant: string, count: number): Promise<void> {
  const start = Date.now() - count
  for (let batch = 0; batch < count; batch += 25) {
    const requests = Array.from({ length: Math.min(25, count - batch) }, (_, n) => {
      const at = start + batch + n
      const id = uuidV7(at, systemClock.randomBytes(10))
      const times = { created_at: timestamp(at), updated_at: timestamp(at) }
      const item = {
        ...keyOf(tenant, 'order', id),
        id,
        tenant_id: tenant,
        ...order,
        status: 'active',
        ...times,
        version: 1,
      }
      return { PutRequest: { Item: marshall(item) } }
    })
    await client.send(new BatchWriteItemCommand({ RequestItems: { [table]: requests } }))
  }
}
