import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { BatchWriteCommand, DynamoDBDocumentClient, paginateScan } from '@aws-sdk/lib-dynamodb'
import { firstIdAt } from '#shared/platform/base/clock.ts'
import type { Report } from '../cli/output.ts'
import { type DeployedStack, outputOf } from './deployment.ts'

interface AuditCopy {
  client: DynamoDBDocumentClient
  source: string
  target: string
  /** Records from this time on are copied. */
  from: Date
  report?: Report
}

/** DynamoDB accepts so many items in a batch. */
const batchItems = 25
/** The parts of the table that are read in parallel. */
const segments = 16
const minuteMilliseconds = 60_000

/**
 * Copies the audit records of all tenants since a time to another table. It can be repeated. It reads the whole table.
 * @returns how many records were copied
 */
export async function copyAudit({
  client,
  source,
  target,
  from,
  report = () => {},
}: AuditCopy): Promise<number> {
  // The record that sums equal denials has the time of its minute.
  const first = from.getTime() - (from.getTime() % minuteMilliseconds)
  let copied = 0
  await Promise.all(Array.from({ length: segments }, (_, Segment) => copySegment(Segment)))
  return copied

  async function copySegment(Segment: number): Promise<void> {
    const audit = {
      TableName: source,
      FilterExpression: 'begins_with(pk, :audit) AND sk >= :first',
      ExpressionAttributeValues: { ':audit': 'audit#', ':first': firstIdAt(first) },
      ConsistentRead: true,
      Segment,
      TotalSegments: segments,
    }
    for await (const { Items = [] } of paginateScan({ client }, audit))
      for (let at = 0; at < Items.length; at += batchItems) {
        await write(Items.slice(at, at + batchItems))
        copied += Math.min(batchItems, Items.length - at)
        report(`${copied} records copied`)
      }
  }

  async function write(items: Record<string, unknown>[]): Promise<void> {
    let requests = items.map((Item) => ({ PutRequest: { Item } }))
    while (requests.length > 0) {
      const { UnprocessedItems } = await client.send(
        new BatchWriteCommand({ RequestItems: { [target]: requests } }),
      )
      requests = (UnprocessedItems?.[target] ?? []) as typeof requests
    }
  }
}

/** Copies the audit records of a stack's table. */
export function copyAuditOf(
  stack: DeployedStack,
  copy: Pick<AuditCopy, 'target' | 'from' | 'report'>,
): Promise<number> {
  // Throttled writes are repeated with growing pauses.
  const client = DynamoDBDocumentClient.from(new DynamoDBClient({ ...stack.access, maxAttempts: 10 }))
  return copyAudit({ client, source: outputOf(stack, 'TableName'), ...copy })
}
