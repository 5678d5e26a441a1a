import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { S3Client } from '@aws-sdk/client-s3'
import { marshall } from '@aws-sdk/util-dynamodb'
import { beforeEach, describe, expect, test } from '@jest/globals'
import { type Exporting, exportedItems, withExport } from '#bin/commands/verify/data/export.ts'
import { tableFolder } from '#shared/platform/formats/file-store.ts'
import type { Item } from '#shared/platform/table/keys.ts'
import { accessOf } from '#test/support/fake-aws.ts'
import { answering } from '#test/support/fake-clients.ts'

const access = accessOf('http://127.0.0.1:1')
const arn = 'arn:aws:dynamodb:eu-west-1:111122223333:table/commerce-prod'
const id = '01695353076000-a1b2c3d4'
const folder = `${tableFolder}/AWSDynamoDB/${id}`
const bucket = 'commerce-prod-files'
const key = 'arn:aws:kms:eu-west-1:111122223333:key/1234'
const time = new Date('2026-11-27T03:00:00Z')

const items: Item[] = [
  { pk: 'order#acme#0', sk: 'a', amount_minor: 1999, is_paid: true, nothing: null },
  { pk: 'customer#acme#1', sk: 'b', name: 'Ünïcödé \u{1f600}\nand "more"', tags: ['x', { deep: 1.5 }] },
  { pk: 'audit#acme#2', sk: 'c', text: 'long '.repeat(40_000) },
]

/** The files of the bucket, by key. */
let files: Map<string, Buffer>
let asked: [string, Record<string, unknown>][]
let statuses: { ExportStatus: string; FailureCode?: string; FailureMessage?: string }[]
let encryption: object

/**
 * Stores an export as the documentation shows it, in the bucket of another service.
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/S3DataExport.Output.html
 */
function store(ofFiles: readonly Item[][], { count = ofFiles.flat().length, within = '' } = {}): void {
  const put = (name: string, content: string | Buffer) => files.set(`${folder}/${name}`, Buffer.from(content))
  put('_started', '')
  const lines = ofFiles.map((ofFile, at) => {
    const name = `data/${'abcdef'[at]}eczss3yxay3o4abnabbb.json.gz`
    const text = ofFile.map((item) => `${JSON.stringify({ Item: marshall(item) })}\n`).join('')
    const data = gzipSync(text)
    put(name, ofFile.length === 0 ? '' : data)
    const md5 = createHash('md5').update(data)
    return JSON.stringify({
      itemCount: ofFile.length,
      md5Checksum: md5.copy().digest('base64'),
      etag: `${md5.digest('hex')}-1`,
      dataFileS3Key: `${within}AWSDynamoDB/${id}/${name}`,
    })
  })
  put('manifest-files.json', `${lines.join('\n')}\n`)
  put('manifest-files.checksum', 'c2hh')
  const summary = {
    version: '2020-06-30',
    exportArn: `${arn}/export/${id}`,
    startTime: '2026-11-27T03:00:00.000Z',
    endTime: '2026-11-27T03:05:00.000Z',
    tableArn: arn,
    tableId: '12345a12-abcd-123a-ab12-1234abc12345',
    exportTime: '2026-11-27T03:00:00.000Z',
    s3Bucket: bucket,
    s3Prefix: tableFolder,
    s3SseAlgorithm: 'KMS',
    s3SseKmsKeyId: key,
    manifestFilesS3Key: `${within}AWSDynamoDB/${id}/manifest-files.json`,
    billedSizeBytes: 0,
    itemCount: count,
    outputFormat: 'DYNAMODB_JSON',
  }
  put('manifest-summary.json', JSON.stringify(summary))
  put('manifest-summary.checksum', 'c2hh')
}

beforeEach(() => {
  files = new Map([['exports/acme/other.csv', Buffer.from('of a tenant')]])
  asked = []
  statuses = [{ ExportStatus: 'IN_PROGRESS' }, { ExportStatus: 'COMPLETED' }]
  encryption = { SSEAlgorithm: 'aws:kms', KMSMasterKeyID: key }
})

/** Sends what a file has in chunks with arbitrary boundaries, as from a network. */
function bodyOf(name: string): Readable {
  const bytes = files.get(name)
  if (!bytes) throw new Error(`there is no ${name}`)
  const chunks = Array.from({ length: Math.ceil(bytes.length / 997) }, (_, at) =>
    bytes.subarray(at * 997, (at + 1) * 997),
  )
  return Readable.from(chunks)
}

function exporting(): Exporting {
  const answer = answering({
    DescribeTable: () => ({ Table: { TableArn: arn } }),
    GetBucketEncryption: () => ({
      ServerSideEncryptionConfiguration: { Rules: [{ ApplyServerSideEncryptionByDefault: encryption }] },
    }),
    ExportTableToPointInTime: (input) => {
      asked.push(['export', input])
      return { ExportDescription: { ExportArn: `${arn}/export/${id}`, ExportStatus: 'IN_PROGRESS' } }
    },
    DescribeExport: () => ({ ExportDescription: { ExportTime: time, ...statuses.shift() } }),
    GetObject: ({ Key }) => ({ Body: bodyOf(Key) }),
    ListObjectsV2: ({ Prefix }) => ({
      Contents: [...files.keys()].filter((one) => one.startsWith(Prefix)).map((Key) => ({ Key })),
    }),
    DeleteObjects: ({ Delete }) => {
      for (const { Key } of Delete.Objects) files.delete(Key)
    },
  })
  return {
    dynamodb: answer(new DynamoDBClient(access)),
    s3: answer(new S3Client(access)),
    ...{ table: 'commerce-prod', bucket, pauseSeconds: 0, report: () => {} },
    signal: new AbortController().signal,
  }
}

const readAll = (using = exporting()) =>
  withExport(using, async (ended) => {
    const read: Item[] = []
    for await (const item of exportedItems(using, ended)) read.push(item)
    return { read, at: ended.at }
  })

describe('an export of the table', () => {
  test.each([
    ['from the folder of the export', ''],
    ['from the prefix of the request', `${tableFolder}/`],
  ])('is read as DynamoDB writes it, with keys that begin %s', async (_, within) => {
    store([items.slice(0, 2), [], items.slice(2)], { within })
    expect(await readAll()).toEqual({ read: items, at: time.getTime() })
  })

  test('is asked for in its own folder, with the key of the bucket', async () => {
    store([items])
    await readAll()
    const request = { TableArn: arn, S3Bucket: bucket, S3Prefix: tableFolder, ExportFormat: 'DYNAMODB_JSON' }
    expect(asked).toEqual([['export', { ...request, S3SseAlgorithm: 'KMS', S3SseKmsKeyId: key }]])
  })

  test('is encrypted by S3 in a bucket without a key', async () => {
    store([items])
    encryption = { SSEAlgorithm: 'AES256' }
    await readAll()
    expect(asked).toMatchObject([['export', { S3SseAlgorithm: 'AES256' }]])
  })

  test('is deleted once it is read, and nothing else is', async () => {
    store([items])
    await readAll()
    expect([...files.keys()]).toEqual(['exports/acme/other.csv'])
  })

  test('is deleted if the work with it fails', async () => {
    store([items])
    const failed = withExport(exporting(), () => Promise.reject(new Error('no memory is left')))
    await expect(failed).rejects.toThrow('no memory is left')
    expect([...files.keys()]).toEqual(['exports/acme/other.csv'])
  })

  test('that fails says why, and leaves nothing', async () => {
    files.set(`${folder}/_started`, Buffer.from(''))
    statuses = [{ ExportStatus: 'FAILED', FailureCode: 'S3AccessDenied', FailureMessage: 'no PutObject' }]
    const failed = 'the export of commerce-prod failed: S3AccessDenied: no PutObject'
    await expect(readAll()).rejects.toThrow(failed)
    expect(files.size).toBe(1)
  })

  test('that lacks items is refused', async () => {
    store([items], { count: 4 })
    await expect(readAll()).rejects.toThrow('the export has 3 items instead of 4')
  })

  test('with a file that is cut off is refused', async () => {
    store([items])
    const [name = ''] = [...files.keys()].filter((one) => one.endsWith('.gz'))
    files.set(name, files.get(name)?.subarray(0, 200) ?? Buffer.from(''))
    await expect(readAll()).rejects.toThrow('unexpected end of file')
  })
})
