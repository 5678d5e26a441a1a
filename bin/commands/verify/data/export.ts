import { pipeline, type Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { createGunzip } from 'node:zlib'
import {
  type AttributeValue,
  DescribeExportCommand,
  DescribeTableCommand,
  type DynamoDBClient,
  type ExportDescription,
  ExportTableToPointInTimeCommand,
} from '@aws-sdk/client-dynamodb'
import {
  DeleteObjectsCommand,
  GetBucketEncryptionCommand,
  GetObjectCommand,
  paginateListObjectsV2,
  type S3Client,
} from '@aws-sdk/client-s3'
import { unmarshall } from '@aws-sdk/util-dynamodb'
import { tableFolder } from '#shared/platform/formats/file-store.ts'
import type { Item } from '#shared/platform/table/keys.ts'
import type { Report } from '../../../cli/output.ts'

/** Where the exports of a table are stored. */
export interface Exporting {
  dynamodb: DynamoDBClient
  s3: S3Client
  table: string
  bucket: string
  pauseSeconds: number
  report: Report
  signal: AbortSignal
}

/** The files of an export that has ended. */
interface TableExport {
  bucket: string
  /** The keys of all of its files begin with it. */
  folder: string
  /** The time of the data, in milliseconds since 1970. */
  at: number
}

/**
 * Exports a table as it is now, which neither reads nor locks it, works with the files, and deletes them. What an interrupted run
 * leaves is deleted by the lifecycle rule of the bucket.
 * @throws Error if DynamoDB cannot export the table
 */
export async function withExport<Result>(
  exporting: Exporting,
  work: (files: TableExport) => Promise<Result>,
): Promise<Result> {
  const { dynamodb, table, bucket } = exporting
  const { Table } = await dynamodb.send(new DescribeTableCommand({ TableName: table }))
  const started = await dynamodb.send(
    new ExportTableToPointInTimeCommand({
      TableArn: Table?.TableArn,
      S3Bucket: bucket,
      S3Prefix: tableFolder,
      ExportFormat: 'DYNAMODB_JSON',
      ...(await encryptionOf(exporting)),
    }),
  )
  const { ExportArn = '' } = started.ExportDescription ?? {}
  const folder = `${tableFolder}/AWSDynamoDB/${ExportArn.split('/').at(-1)}/`
  try {
    const { ExportTime = new Date(0) } = await ended(ExportArn, exporting)
    return await work({ bucket, folder, at: ExportTime.getTime() })
  } finally {
    await deleteFiles(exporting, folder)
  }
}

/** Returns the encryption of the bucket, which DynamoDB does not look up. */
async function encryptionOf({ s3, bucket }: Exporting) {
  const { ServerSideEncryptionConfiguration } = await s3.send(
    new GetBucketEncryptionCommand({ Bucket: bucket }),
  )
  const [rule] = ServerSideEncryptionConfiguration?.Rules ?? []
  const { SSEAlgorithm, KMSMasterKeyID } = rule?.ApplyServerSideEncryptionByDefault ?? {}
  if (SSEAlgorithm !== 'aws:kms' || KMSMasterKeyID === undefined) return { S3SseAlgorithm: 'AES256' as const }
  return { S3SseAlgorithm: 'KMS' as const, S3SseKmsKeyId: KMSMasterKeyID }
}

async function ended(ExportArn: string, exporting: Exporting): Promise<ExportDescription> {
  const { dynamodb, table, pauseSeconds, report, signal } = exporting
  for (;;) {
    const { ExportDescription = {} } = await dynamodb.send(new DescribeExportCommand({ ExportArn }))
    const { ExportStatus, FailureCode, FailureMessage } = ExportDescription
    if (ExportStatus === 'COMPLETED') return ExportDescription
    if (ExportStatus === 'FAILED')
      throw new Error(`the export of ${table} failed: ${FailureCode}: ${FailureMessage}`)
    signal.throwIfAborted()
    report(`DynamoDB exports ${table}, which takes minutes`)
    await new Promise((resolve) => setTimeout(resolve, pauseSeconds * 1000))
  }
}

/** What the manifests say, as far as it is read. */
interface Summary {
  itemCount: number
}
interface DataFile {
  itemCount: number
  dataFileS3Key: string
}

/**
 * Reads the items of an export, file by file: a part of a file is in memory. The layout of its files is that of
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/S3DataExport.Output.html
 * @throws Error if items are missing
 */
export async function* exportedItems(
  { s3, signal }: Pick<Exporting, 's3' | 'signal'>,
  { bucket, folder }: TableExport,
): AsyncGenerator<Item> {
  const open = async (name: string) => {
    const file = { Bucket: bucket, Key: `${folder}${name}` }
    return (await s3.send(new GetObjectCommand(file), { abortSignal: signal })).Body as Readable
  }
  const { itemCount }: Summary = JSON.parse(await text(await open('manifest-summary.json')))
  let read = 0
  for await (const line of textLines(await open('manifest-files.json'))) {
    const file: DataFile = JSON.parse(line)
    // The file of a partition without items is empty.
    if (file.itemCount === 0) continue
    const before = read
    const data = await open(`data/${file.dataFileS3Key.split('/').at(-1)}`)
    const unzipped = createGunzip()
    // It ends with the error of either, or when the reader stops.
    pipeline(data, unzipped, () => {})
    for await (const item of textLines(unzipped)) {
      read += 1
      yield unmarshall((JSON.parse(item) as { Item: Record<string, AttributeValue> }).Item) as Item
    }
    assertWhole(read - before, file.itemCount)
  }
  assertWhole(read, itemCount)
}

function assertWhole(read: number, expected: number): void {
  if (read !== expected) throw new Error(`the export has ${read} items instead of ${expected}`)
}

async function* textLines(input: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of input) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  if (rest !== '') yield rest
}

/** Deletes the files of an export, at most 1000 at once. */
async function deleteFiles({ s3, bucket }: Exporting, Prefix: string): Promise<void> {
  for await (const { Contents = [] } of paginateListObjectsV2({ client: s3 }, { Bucket: bucket, Prefix })) {
    if (Contents.length === 0) continue
    const Objects = Contents.map(({ Key }) => ({ Key }))
    const { Errors = [] } = await s3.send(new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects } }))
    if (Errors[0]) throw new Error(`${Errors[0].Key} of ${bucket} was not deleted: ${Errors[0].Message}`)
  }
}
