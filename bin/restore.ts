import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import {
  DescribeTableCommand,
  DynamoDBClient,
  RestoreTableToPointInTimeCommand,
  type TableDescription,
  UpdateContinuousBackupsCommand,
  UpdateTableCommand,
  UpdateTimeToLiveCommand,
} from '@aws-sdk/client-dynamodb'
import { needed, run } from './command.ts'
import { deployedStack, outputOf, stackUsage } from './deployment.ts'

const usage = `usage: npm run -s restore -- --table NAME [--to TIME] [--stack NAME]
Restores the table of a stack as it was at a time, such as 2026-01-31T12:00:00Z, into a new table. Without --to it
takes a table that exists already, for instance one that AWS Backup restored. It then switches on what a restore leaves
off (stream, time to live, point-in-time recovery, deletion protection) and prints the setting with which the stack
adopts the table. Nothing changes for callers before the next deployment. It can be run again after an interruption.
${stackUsage}`

/** The value of the setting storage.restoredTable. */
export interface RestoredTable {
  tableName: string
  streamArn: string
}

export interface Restoring {
  dynamodb: DynamoDBClient
  source: string
  target: string
  /** Absent for an existing target. */
  at?: Date | undefined
  pauseMilliseconds: number
}

/**
 * Restores a table and prepares it for the service.
 * @throws Error for a missing target without a time
 */
export async function restoreTable({ source, at, ...restoring }: Restoring): Promise<RestoredTable> {
  const { dynamodb, target } = restoring
  const existing = await describe(dynamodb, target)
  if (!existing) {
    if (!at) throw new Error(`there is no table ${target}: name the time to restore with --to`)
    await dynamodb.send(
      new RestoreTableToPointInTimeCommand({
        SourceTableName: source,
        TargetTableName: target,
        RestoreDateTime: at,
      }),
    )
  }
  await untilActive(restoring)
  return prepare(restoring)
}

async function prepare(restoring: Omit<Restoring, 'source' | 'at'>): Promise<RestoredTable> {
  const { dynamodb, target: TableName } = restoring
  const { StreamSpecification: stream, DeletionProtectionEnabled: isProtected } = await untilActive(restoring)
  if (!stream?.StreamEnabled) {
    const StreamSpecification = { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' } as const
    await dynamodb.send(new UpdateTableCommand({ TableName, StreamSpecification }))
    await untilActive(restoring)
  }
  if (!isProtected) {
    await dynamodb.send(new UpdateTableCommand({ TableName, DeletionProtectionEnabled: true }))
    await untilActive(restoring)
  }
  await dynamodb
    .send(
      new UpdateTimeToLiveCommand({
        TableName,
        TimeToLiveSpecification: { AttributeName: 'expires_at', Enabled: true },
      }),
    )
    .catch((thrown: Error) => {
      if (!/already enabled/i.test(thrown.message)) throw thrown
    })
  await dynamodb.send(
    new UpdateContinuousBackupsCommand({
      TableName,
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
    }),
  )
  const { LatestStreamArn: streamArn = '' } = await untilActive(restoring)
  return { tableName: TableName, streamArn }
}

async function untilActive(restoring: Omit<Restoring, 'source' | 'at'>): Promise<TableDescription> {
  for (;;) {
    const table = await describe(restoring.dynamodb, restoring.target)
    if (table?.TableStatus === 'ACTIVE') return table
    await sleep(restoring.pauseMilliseconds)
  }
}

async function describe(dynamodb: DynamoDBClient, TableName: string): Promise<TableDescription | undefined> {
  try {
    return (await dynamodb.send(new DescribeTableCommand({ TableName }))).Table
  } catch (thrown) {
    if ((thrown as Error).name === 'ResourceNotFoundException') return undefined
    throw thrown
  }
}

/** @throws Error unless the text is a time in UTC */
export function timeOf(text: string | undefined): Date | undefined {
  if (text === undefined) return undefined
  const time = new Date(text)
  if (!text.endsWith('Z') || Number.isNaN(time.getTime())) {
    throw new Error('--to takes a time in UTC, such as 2026-01-31T12:00:00Z')
  }
  return time
}

async function main(): Promise<void> {
  const text = { type: 'string' } as const
  const { values } = parseArgs({ options: { table: text, to: text, stack: text } })
  const [target, at] = [needed(values.table, 'table'), timeOf(values.to)]
  const stack = await deployedStack(values.stack)
  const source = outputOf(stack, 'TableName')
  const dynamodb = new DynamoDBClient(stack.access)
  const restored = await restoreTable({ dynamodb, source, target, at, pauseMilliseconds: 10_000 })
  console.log(JSON.stringify({ 'storage.restoredTable': restored }))
}

if (import.meta.main) await run(usage, main)
