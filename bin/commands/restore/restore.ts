import { setTimeout } from 'node:timers/promises'
import {
  DescribeTableCommand,
  DynamoDBClient,
  PutItemCommand,
  RestoreTableToPointInTimeCommand,
  type TableDescription,
  UpdateContinuousBackupsCommand,
  UpdateItemCommand,
  UpdateTableCommand,
  type UpdateTableCommandInput,
  UpdateTimeToLiveCommand,
  type WarmThroughput,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb'
import { systemClock } from '#shared/platform/base/clock.ts'
import { restoredKey } from '#shared/platform/table/restored.ts'
import type { Settings } from '#shared/settings/register.ts'
import { subscribedTenantsKey } from '#shared/subscribers/subscribed-tenants.ts'
import type { Report } from '../../cli/output.ts'
import { type DeployedStack, outputOf } from '../stack/deployment.ts'

/** The value of the setting storage.restoredTable. */
export interface RestoredTable {
  tableName: string
  streamArn: string
}

interface Restore {
  dynamodb: DynamoDBClient
  source: string
  target: string
  /** Absent for an existing target. */
  at?: Date | undefined
  /** The restored table takes this load at once, as the source does. */
  warmThroughput: Settings['storage.warmThroughput']
  pauseSeconds: number
  report?: Report
}

/**
 * Restores a table and prepares it for the service. The table is marked as restored.
 * @throws Error for a missing target without a time, and for a target that holds another time
 */
export async function restoreTable(restore: Restore): Promise<RestoredTable> {
  const { dynamodb, source, target: TableName, at, warmThroughput, pauseSeconds, report = () => {} } = restore
  const existing = await dynamodb.send(new DescribeTableCommand({ TableName })).catch((thrown: Error) => {
    if (thrown.name !== 'ResourceNotFoundException') throw thrown
  })
  if (existing && at) assertRestoredTo(at, existing.Table ?? {})
  if (!existing) {
    if (!at) throw new Error(`there is no table ${TableName}: name the time to restore with --to`)
    const request = { SourceTableName: source, TargetTableName: TableName, RestoreDateTime: at }
    await dynamodb.send(new RestoreTableToPointInTimeCommand(request))
  }
  report(`restoring ${TableName}`)
  const table = await active()
  report(`preparing ${TableName}`)
  if (!table.StreamSpecification?.StreamEnabled)
    await update({ StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' } })
  if (!table.DeletionProtectionEnabled) await update({ DeletionProtectionEnabled: true })
  const TimeToLiveSpecification = { AttributeName: 'expires_at', Enabled: true }
  await dynamodb
    .send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification }))
    .catch((thrown: Error) => {
      if (!/already enabled/i.test(thrown.message)) throw thrown
    })
  await recoverable()
  if (warmThroughput) await warm(table, warmThroughput)
  const { LatestStreamArn: streamArn = '' } = await active()
  // Payouts of lost refunds are searched for some time after it.
  const mark = { pk: { S: restoredKey.pk }, sk: { S: restoredKey.sk }, at: { N: String(systemClock.now()) } }
  await dynamodb.send(new PutItemCommand({ TableName, Item: mark }))
  // A list that is known to be empty is never made again.
  const forgetting = {
    Key: { pk: { S: subscribedTenantsKey.pk }, sk: { S: subscribedTenantsKey.sk } },
    UpdateExpression: 'SET tenants = :unknown ADD version :one',
    ExpressionAttributeValues: { ':unknown': { NULL: true }, ':one': { N: '1' } },
  } as const
  await dynamodb.send(new UpdateItemCommand({ TableName, ...forgetting }))
  return { tableName: TableName, streamArn }

  /** Only one change of a table can be in progress. */
  async function warm(
    { WarmThroughput: present, GlobalSecondaryIndexes = [] }: TableDescription,
    wanted: NonNullable<Restore['warmThroughput']>,
  ): Promise<void> {
    const WarmThroughput = raised(present, wanted)
    if (WarmThroughput) await update({ WarmThroughput })
    for (const { IndexName, WarmThroughput: ofIndex } of GlobalSecondaryIndexes) {
      const Update = { IndexName, WarmThroughput: raised(ofIndex, wanted) }
      if (Update.WarmThroughput) await update({ GlobalSecondaryIndexUpdates: [{ Update }] })
    }
  }

  /** A table that has just become active refuses it for some time. */
  async function recoverable(attempts = 60): Promise<void> {
    const PointInTimeRecoverySpecification = { PointInTimeRecoveryEnabled: true }
    try {
      await dynamodb.send(new UpdateContinuousBackupsCommand({ TableName, PointInTimeRecoverySpecification }))
    } catch (thrown) {
      if ((thrown as Error).name !== 'ContinuousBackupsUnavailableException' || attempts === 1) throw thrown
      await setTimeout(pauseSeconds * 1000)
      await recoverable(attempts - 1)
    }
  }

  async function update(changes: Omit<UpdateTableCommandInput, 'TableName'>): Promise<void> {
    await dynamodb.send(new UpdateTableCommand({ TableName, ...changes }))
    await active()
  }

  async function active(): Promise<TableDescription> {
    const pauses = { minDelay: pauseSeconds, maxDelay: pauseSeconds, maxWaitTime: 24 * 3600 }
    await waitUntilTableExists({ client: dynamodb, ...pauses }, { TableName })
    return (await dynamodb.send(new DescribeTableCommand({ TableName }))).Table ?? {}
  }
}

/**
 * Returns a warm throughput that is nowhere below the present one, which DynamoDB refuses to lower; undefined if nothing has
 * to change.
 */
function raised(
  { ReadUnitsPerSecond: read = 0, WriteUnitsPerSecond: write = 0 }: WarmThroughput = {},
  { readUnits, writeUnits }: { readUnits: number; writeUnits: number },
): WarmThroughput | undefined {
  if (read >= readUnits && write >= writeUnits) return undefined
  return { ReadUnitsPerSecond: Math.max(read, readUnits), WriteUnitsPerSecond: Math.max(write, writeUnits) }
}

/** An interrupted restore continues. Another time would have no effect on a table that exists. */
function assertRestoredTo(at: Date, { TableName, RestoreSummary }: TableDescription): void {
  const restoredTo = RestoreSummary?.RestoreDateTime
  // AWS may round the time.
  if (restoredTo && Math.abs(restoredTo.getTime() - at.getTime()) < 1000) return
  const state = restoredTo ? `was restored to ${restoredTo.toISOString()}` : 'was not restored to a time'
  throw new Error(`the table ${TableName} exists and ${state}: restore into a table of another name`)
}

/** Restores the table of a stack. */
export function restoreTableOf(
  stack: DeployedStack,
  restore: Pick<Restore, 'target' | 'at' | 'warmThroughput' | 'report'>,
): Promise<RestoredTable> {
  const dynamodb = new DynamoDBClient(stack.access)
  return restoreTable({ dynamodb, source: outputOf(stack, 'TableName'), pauseSeconds: 10, ...restore })
}
