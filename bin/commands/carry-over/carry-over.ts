import { DescribeTableCommand, DynamoDBClient, type TableDescription } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient, paginateScan } from '@aws-sdk/lib-dynamodb'
import { firstIdAt } from '#shared/platform/base/clock.ts'
import { blockedTenantsKey } from '#shared/platform/identity/blocked-tenants.ts'
import type { Item } from '#shared/platform/table/keys.ts'
import type { Report } from '../../cli/output.ts'
import { type DeployedStack, outputOf } from '../deployment.ts'
import { type CarriedSubscribers, carryOverSubscribers } from './carry-over-subscribers.ts'
import { type Copying, putOf, removalOf, writeAll } from './copying.ts'

interface CarryOver extends Copying {
  /** Audit records from this time on are copied. */
  from: Date
  report?: Report
}

/** The numbers of copied audit records, copied holds, and holds of the target that the source has no more. */
interface CarriedOver extends CarriedSubscribers {
  audit: number
  holds: number
  released: number
}

/** The parts of the table that are read in parallel. */
const segments = 16
const minuteMilliseconds = 60_000

/**
 * Carries over to a restored table what it must not lose: the audit records of all tenants since a time, and the legal
 * holds, the blocked tenants, the subscribers and their deliveries as they stand now. It can be repeated. It reads both
 * tables as a whole.
 */
export async function carryOver({ from, report = () => {}, ...copying }: CarryOver): Promise<CarriedOver> {
  const { client, source, target } = copying
  // The record that sums equal denials has the time of its minute.
  const first = from.getTime() - (from.getTime() % minuteMilliseconds)
  const done = { audit: 0, holds: 0, released: 0 }
  /** The holds in the source, and their numbers in each tenant. */
  const kept = new Set<string>()
  const inSegments = (work: (segment: object) => Promise<void>) =>
    Promise.all(
      Array.from({ length: segments }, (_, Segment) =>
        work({ ConsistentRead: true, Segment, TotalSegments: segments }),
      ),
    )
  await inSegments(copySegment)
  await inSegments(releaseOthers)
  return { ...done, ...(await carryOverSubscribers(copying, from)) }

  async function copySegment(segment: object): Promise<void> {
    const copied = {
      TableName: source,
      FilterExpression:
        'pk = :blocked OR begins_with(pk, :hold) OR (begins_with(pk, :audit) AND sk >= :first)',
      ExpressionAttributeValues: {
        ':blocked': blockedTenantsKey.pk,
        ':hold': 'legal_hold#',
        ':audit': 'audit#',
        ':first': firstIdAt(first),
      },
      ...segment,
    }
    for await (const { Items = [] } of paginateScan({ client }, copied)) {
      const items = Items as Item[]
      await writeAll(copying, items.map(putOf))
      for (const { pk, sk, target } of items) {
        if (pk.startsWith('audit#')) done.audit += 1
        if (!pk.startsWith('legal_hold#')) continue
        kept.add(pk + sk)
        if (target !== undefined) done.holds += 1
      }
      report(`${done.audit} audit records and ${done.holds} holds copied`)
    }
  }

  /** Deletes the holds of the target that were released since the time of the restore, also of a tenant purged since. */
  async function releaseOthers(segment: object): Promise<void> {
    const held = {
      TableName: target,
      FilterExpression: 'begins_with(pk, :hold)',
      ExpressionAttributeValues: { ':hold': 'legal_hold#' },
      ...segment,
    }
    for await (const { Items = [] } of paginateScan({ client }, held)) {
      const released = (Items as Item[]).filter(({ pk, sk }) => !kept.has(pk + sk))
      await writeAll(copying, released.map(removalOf))
      done.released += released.filter(({ target }) => target !== undefined).length
    }
  }
}

/** Carries over from a stack's table. @throws Error for a target that was not restored from it */
export async function carryOverOf(
  stack: DeployedStack,
  options: Pick<CarryOver, 'target' | 'from' | 'report'>,
): Promise<CarriedOver> {
  // Throttled writes are repeated with growing pauses.
  const dynamodb = new DynamoDBClient({ ...stack.access, maxAttempts: 10 })
  const source = outputOf(stack, 'TableName')
  assertRestoredFrom(await describe(source), await describe(options.target))
  return carryOver({ client: DynamoDBDocumentClient.from(dynamodb), source, ...options })

  async function describe(TableName: string): Promise<TableDescription> {
    return (await dynamodb.send(new DescribeTableCommand({ TableName }))).Table ?? {}
  }
}

/** A carry-over deletes in its target, so a wrong name would destroy data. @throws Error */
export function assertRestoredFrom(source: TableDescription, target: TableDescription): void {
  const { TableName: name, RestoreSummary: { SourceTableArn, SourceBackupArn } = {} } = target
  if (target.TableArn === source.TableArn)
    throw new Error(`${name} is the table of the stack: carry over before the deployment that adopts it`)
  if (SourceTableArn === source.TableArn || SourceBackupArn?.startsWith(`${source.TableArn}/backup/`)) return
  const origin = SourceTableArn ?? SourceBackupArn
  const state = origin === undefined ? 'was not restored from another table' : `was restored from ${origin}`
  throw new Error(
    `the table ${name} ${state}: carry-over writes only to a table restored from ${source.TableName}`,
  )
}
