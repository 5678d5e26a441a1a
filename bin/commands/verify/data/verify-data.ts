import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { S3Client } from '@aws-sdk/client-s3'
import { DynamoDBDocumentClient, paginateScan } from '@aws-sdk/lib-dynamodb'
import { systemClock, timestamp } from '#shared/platform/base/clock.ts'
import type { Item } from '#shared/platform/table/keys.ts'
import type { Settings } from '#shared/settings/register.ts'
import type { Report } from '../../../cli/output.ts'
import { type DeployedStack, outputOf } from '../../stack/deployment.ts'
import { type CheckedData, checkData } from './check-data.ts'
import { exportedItems, withExport } from './export.ts'
import type { Violation } from './promise.ts'

interface VerifyData {
  settings: Settings
  report?: Report
  /** Receives each broken promise when it is found. */
  onViolation: (violation: Violation) => void
  signal?: AbortSignal
}

/** What was checked. */
interface Checked {
  table: string
  /** The time of the data. */
  at: string
  items: number
  violations: number
}

/**
 * Checks what must be true of the data of a stack, over an export of its table. A local AWS writes no files for an export, so its table
 * is read.
 */
export async function verifyData(stack: DeployedStack, options: VerifyData): Promise<Checked> {
  const { report = () => {}, signal = new AbortController().signal } = options
  const dynamodb = new DynamoDBClient(stack.access)
  const table = outputOf(stack, 'TableName')
  if ((stack.access.endpoint ?? process.env.AWS_ENDPOINT_URL) !== undefined) {
    const items = () => scannedItems(dynamodb, table)
    return check({ items, at: systemClock.now(), isWhole: false })
  }
  const s3 = new S3Client(stack.access)
  const bucket = outputOf(stack, 'FilesBucketName')
  return withExport({ dynamodb, s3, table, bucket, pauseSeconds: 10, report, signal }, (files) =>
    check({ items: () => exportedItems({ s3, signal }, files), at: files.at, isWhole: false }),
  )

  async function check(data: CheckedData): Promise<Checked> {
    let items = 0
    let violations = 0
    const onRead = (count: number) => {
      items = Math.max(items, count)
      if (count % 10_000 === 0) report(`${count} items read`)
    }
    for await (const violation of checkData(data, { settings: options.settings, onRead })) {
      violations += 1
      options.onViolation(violation)
    }
    return { table, at: timestamp(data.at), items, violations }
  }
}

async function* scannedItems(dynamodb: DynamoDBClient, TableName: string): AsyncGenerator<Item> {
  const client = DynamoDBDocumentClient.from(dynamodb)
  for await (const { Items = [] } of paginateScan({ client }, { TableName, ConsistentRead: true }))
    yield* Items as Item[]
}
