import {
  DescribeTableCommand,
  DynamoDBClient,
  RestoreTableToPointInTimeCommand,
  type TableDescription,
  UpdateContinuousBackupsCommand,
  UpdateTableCommand,
  type UpdateTableCommandInput,
  UpdateTimeToLiveCommand,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb'
import { printLine, timeOf } from './command.ts'
import { outputOf, stackCommand } from './deployment.ts'

const usage = `usage: npm run -s restore -- --table NAME [--to TIME] [--stack NAME]
Restores the table of a stack into a new table, as it was at a time such as 2026-01-31T12:00:00Z. Without --to it prepares
a table that exists, such as one that AWS Backup restored. It enables what a restore disables (stream, time to live,
point-in-time recovery, deletion protection) and prints the setting with which the stack adopts the table. Nothing
changes for callers before the next deployment. After an interruption, run it again.`

/** The value of the setting storage.restoredTable. */
export interface RestoredTable {
  tableName: string
  streamArn: string
}

export interface Restore {
  dynamodb: DynamoDBClient
  source: string
  target: string
  /** Absent for an existing target. */
  at?: Date | undefined
  pauseSeconds: number
}

/** Restores a table and prepares it for the service. @throws Error for a missing target without a time */
export async function restoreTable(restore: Restore): Promise<RestoredTable> {
  const { dynamodb, source, target: TableName, at, pauseSeconds } = restore
  const existing = await dynamodb.send(new DescribeTableCommand({ TableName })).catch((thrown: Error) => {
    if (thrown.name !== 'ResourceNotFoundException') throw thrown
  })
  if (!existing) {
    if (!at) throw new Error(`there is no table ${TableName}: name the time to restore with --to`)
    const request = { SourceTableName: source, TargetTableName: TableName, RestoreDateTime: at }
    await dynamodb.send(new RestoreTableToPointInTimeCommand(request))
  }
  const table = await active()
  if (!table.StreamSpecification?.StreamEnabled)
    await update({ StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' } })
  if (!table.DeletionProtectionEnabled) await update({ DeletionProtectionEnabled: true })
  const TimeToLiveSpecification = { AttributeName: 'expires_at', Enabled: true }
  await dynamodb
    .send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification }))
    .catch((thrown: Error) => {
      if (!/already enabled/i.test(thrown.message)) throw thrown
    })
  const PointInTimeRecoverySpecification = { PointInTimeRecoveryEnabled: true }
  await dynamodb.send(new UpdateContinuousBackupsCommand({ TableName, PointInTimeRecoverySpecification }))
  const { LatestStreamArn: streamArn = '' } = await active()
  return { tableName: TableName, streamArn }

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

if (import.meta.main)
  await stackCommand(usage, { table: 'required', to: 'optional' }, async ({ table, to }, stack) => {
    const at = to === undefined ? undefined : timeOf('to', to)
    const dynamodb = new DynamoDBClient(stack.access)
    const restore = { dynamodb, source: outputOf(stack, 'TableName'), target: table, at, pauseSeconds: 10 }
    printLine({ 'storage.restoredTable': await restoreTable(restore) })
  })
