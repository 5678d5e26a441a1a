import {
  DescribeTableCommand,
  type DescribeTableCommandOutput,
  DescribeTimeToLiveCommand,
  type DynamoDBClient,
  PutItemCommand,
  RestoreTableToPointInTimeCommand,
  ScanCommand,
  type TableDescription,
  UpdateContinuousBackupsCommand,
  UpdateTableCommand,
  type UpdateTableCommandInput,
} from '@aws-sdk/client-dynamodb'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { parseTime } from '#bin/cli/options.ts'
import { type RestoredTable, restoreTable } from '#bin/commands/restore/restore.ts'
import { restoredKey } from '#shared/platform/table/restored.ts'
import { readSubscribedTenants } from '#shared/subscribers/subscribed-tenants.ts'
import { testClient } from '#test/support/dynamodb-client.ts'
import { naming } from '#test/support/naming.ts'
import { placeOrder } from '#test/support/place-order.ts'
import { type Service, startService } from '#test/support/service.ts'
import { createTable, openTable } from '#test/support/tables.ts'

const at = new Date('2026-01-31T12:00:00Z')
const ways = { warmThroughput: { writeUnits: 25_000, readUnits: 40_000 }, pauseSeconds: 0.05 }
const asked: unknown[] = []
/** The tables whose recovery was asked for before: AWS refuses it for some time. */
const active = new Set<string>()
/** The times to which tables were restored, by name. */
const restoredTo = new Map<string, Date>()

/** The changes of warm throughputs, and what a table is described with after them. */
const warmings: UpdateTableCommandInput[] = []
const warmed = new Map<string, Pick<TableDescription, 'WarmThroughput' | 'GlobalSecondaryIndexes'>>()

function isWarming(input: UpdateTableCommandInput): boolean {
  return JSON.stringify(input).includes('"WarmThroughput"')
}

function warm(input: UpdateTableCommandInput): void {
  const { TableName = '', WarmThroughput, GlobalSecondaryIndexUpdates = [] } = input
  warmings.push(input)
  warmed.set(TableName, {
    ...warmed.get(TableName),
    ...(WarmThroughput && { WarmThroughput }),
    ...(GlobalSecondaryIndexUpdates[0] && {
      GlobalSecondaryIndexes: GlobalSecondaryIndexUpdates.map(({ Update }) => ({ ...Update })),
    }),
  })
}

/**
 * DynamoDB Local with the calls that it does not support: a restore copies the table and its time is described, and
 * continuous backups and warm throughputs are recorded.
 */
function restoringClient(): DynamoDBClient {
  const client = testClient()
  const send = client.send.bind(client)
  const restoring = Object.create(client) as DynamoDBClient
  restoring.send = (async (command: { input: unknown }) => {
    if (command instanceof UpdateContinuousBackupsCommand) {
      const { TableName = '' } = command.input
      const name = 'ContinuousBackupsUnavailableException'
      if (!active.has(TableName)) {
        active.add(TableName)
        throw Object.assign(new Error('backups have not yet been enabled'), { name })
      }
      return asked.push(command.input)
    }
    if (command instanceof UpdateTableCommand && isWarming(command.input)) return warm(command.input)
    if (command instanceof DescribeTableCommand) {
      const described = (await send(command)) as DescribeTableCommandOutput
      const { TableName = '' } = command.input
      const RestoreDateTime = restoredTo.get(TableName)
      if (!RestoreDateTime) return described
      const RestoreSummary = { RestoreDateTime, RestoreInProgress: false }
      return { Table: { ...described.Table, ...warmed.get(TableName), RestoreSummary } }
    }
    if (!(command instanceof RestoreTableToPointInTimeCommand)) return send(command as never)
    restoredTo.set(command.input.TargetTableName ?? '', command.input.RestoreDateTime as Date)
    asked.push(command.input)
    const { SourceTableName = '', TargetTableName = '' } = command.input
    await createTable(client, TargetTableName)
    const { Items = [] } = await send(new ScanCommand({ TableName: SourceTableName }))
    for (const Item of Items) await send(new PutItemCommand({ TableName: TargetTableName, Item }))
    return {}
  }) as DynamoDBClient['send']
  return restoring
}

let before: Service
let order: { id: string }
let target: string
let restored: RestoredTable
const place = (service: Service) => placeOrder(service, 'restoring', { key: 'before-the-loss' })

/** Restores the table of the service to the target. */
const restore = (changes: Partial<Parameters<typeof restoreTable>[0]> = {}) =>
  restoreTable({ dynamodb: restoringClient(), source: before.tableName, target, ...ways, ...changes })

beforeAll(async () => {
  before = await startService({ tableName: await createTable() })
  order = (await place(before)).json
  expect(order.id).toBeDefined()
  target = `restored-${crypto.randomUUID()}`
  restored = await restore({ at })
})

describe('a restore of the table', () => {
  test('restores the table of the stack to the given time', () => {
    expect(asked[0]).toEqual({
      SourceTableName: before.tableName,
      TargetTableName: target,
      RestoreDateTime: at,
    })
  })

  test('makes the list of tenants with subscribers unknown, so the next sweep makes it again', async () => {
    expect(await readSubscribedTenants(openTable(target))).toMatchObject({ tenants: null, version: 1 })
  })

  test('enables the stream with both images', async () => {
    const { Table } = await testClient().send(new DescribeTableCommand({ TableName: target }))
    expect(Table?.StreamSpecification).toEqual({ StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' })
  })

  test('enables deletion protection', async () => {
    const { Table } = await testClient().send(new DescribeTableCommand({ TableName: target }))
    expect(Table?.DeletionProtectionEnabled).toBe(true)
  })

  test('enables time to live', async () => {
    const { TimeToLiveDescription } = await testClient().send(
      new DescribeTimeToLiveCommand({ TableName: target }),
    )
    expect(TimeToLiveDescription).toMatchObject({ AttributeName: 'expires_at', TimeToLiveStatus: 'ENABLED' })
  })

  test('enables point-in-time recovery', () => {
    expect(asked.at(-1)).toEqual({
      TableName: target,
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
    })
  })

  test('marks the table as restored', async () => {
    const mark = await openTable(target).get(restoredKey)
    expect(Number(mark?.at)).toBeGreaterThan(Date.now() - 600_000)
    expect(await openTable(before.tableName).get(restoredKey)).toBeUndefined()
  })

  test('sets the warm throughput of the table, and then that of its index', () => {
    const WarmThroughput = { WriteUnitsPerSecond: 25_000, ReadUnitsPerSecond: 40_000 }
    expect(warmings).toEqual([
      { TableName: target, WarmThroughput },
      {
        TableName: target,
        GlobalSecondaryIndexUpdates: [{ Update: { IndexName: 'by-id', WarmThroughput } }],
      },
    ])
  })

  test.each([
    ['lowers no warm throughput', { writeUnits: 25_000, readUnits: 12_000 }, 0],
    ['raises one without lowering the other', { writeUnits: 30_000, readUnits: 12_000 }, 2],
  ])('%s', async (_, warmThroughput, changes) => {
    const { length: earlier } = warmings
    await restore({ warmThroughput })
    const units = JSON.stringify({ ReadUnitsPerSecond: 40_000, WriteUnitsPerSecond: 30_000 })
    expect(warmings.slice(earlier)).toHaveLength(changes)
    expect(warmings.slice(earlier).filter((one) => JSON.stringify(one).includes(units))).toHaveLength(changes)
  })

  test('leaves the warm throughput to AWS if the profile names none', async () => {
    const { length: earlier } = warmings
    await restore({ target: before.tableName, warmThroughput: null })
    expect(warmings.slice(earlier)).toEqual([])
  })

  test('prints the value for storage.restoredTable', () => {
    expect(restored).toEqual({ tableName: target, streamArn: expect.stringContaining(`${target}/stream/`) })
  })

  test.each([{}, { at }])('can be repeated, with the same time if it names one: %j', async (changes) => {
    expect(await restore(changes)).toEqual(restored)
  })

  test('rejects another time for a table that exists', async () => {
    await expect(restore({ at: new Date('2026-01-31T11:59:59Z') })).rejects.toThrow(
      naming(`${target} … ${at.toISOString()}`),
    )
  })

  test('rejects a time for a table that was not restored to one', async () => {
    await expect(restore({ target: before.tableName, at })).rejects.toThrow(before.tableName)
  })

  test('without a time rejects a table that does not exist', async () => {
    await expect(restore({ target: 'none' })).rejects.toThrow(/\bnone\b/)
  })

  test.each(['yesterday', '2026-01-31T12:00:00', '2026-01-31T12:00:00+01:00'])(
    'rejects the time %s',
    (text) => {
      expect(() => parseTime(text)).toThrow('UTC')
    },
  )
})

describe('a service on the restored table', () => {
  let after: Service
  beforeAll(async () => {
    after = await startService({ tableName: target })
  })

  test('reads the restored items', async () => {
    const { json } = await after.call({
      path: `/v1/orders/${order.id}`,
      as: { tenant: 'restoring', role: 'Viewer' },
    })
    expect(json.id).toBe(order.id)
  })

  test('replays a request from before the restore', async () => {
    const { headers, json } = await place(after)
    expect([json.id, headers['Idempotency-Status']]).toEqual([order.id, 'replayed'])
  })
})
