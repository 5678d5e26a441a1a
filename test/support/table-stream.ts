import { UpdateTableCommand } from '@aws-sdk/client-dynamodb'
import type { DynamoDBRecord } from 'aws-lambda'
import { testClient } from './dynamodb-client.ts'

export interface TableStream {
  arn: string
  /** The only shard of the stream. */
  shardId: string
  /** Returns the changes since the last read, oldest first, in the format of a function's event. */
  read(): Promise<DynamoDBRecord[]>
}

interface Answer {
  StreamDescription: { Shards: { ShardId: string }[] }
  ShardIterator: string
  Records: DynamoDBRecord[]
  NextShardIterator?: string
}

/** DynamoDB Local checks the format of a signature, not its value. */
const authorization =
  'AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0'

/** Enables the stream of a table, with both images as in production. It slows DynamoDB Local down. */
export async function streamOf(tableName: string): Promise<TableStream> {
  const client = testClient()
  const { TableDescription } = await client.send(
    new UpdateTableCommand({
      TableName: tableName,
      StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' },
    }),
  )
  client.destroy()
  const StreamArn = TableDescription?.LatestStreamArn ?? ''
  const { StreamDescription } = await ask('DescribeStream', { StreamArn })
  const ShardId = StreamDescription.Shards[0]?.ShardId ?? ''
  const place = { StreamArn, ShardId }
  const iteratorAfter = async (last: string | undefined) => {
    const from = last
      ? { ShardIteratorType: 'AFTER_SEQUENCE_NUMBER', SequenceNumber: last }
      : { ShardIteratorType: 'TRIM_HORIZON' }
    return (await ask('GetShardIterator', { ...place, ...from })).ShardIterator
  }
  let last: string | undefined
  let iterator = await iteratorAfter(undefined)
  // DynamoDB Local sometimes rejects an iterator older than all records, although nothing was trimmed.
  const next = () =>
    ask('GetRecords', { ShardIterator: iterator }).catch(async (thrown: Error) => {
      if (!thrown.message.includes('TrimmedDataAccessException')) throw thrown
      iterator = await iteratorAfter(last)
      return ask('GetRecords', { ShardIterator: iterator })
    })
  return {
    arn: StreamArn,
    shardId: ShardId,
    async read() {
      const records: DynamoDBRecord[] = []
      // An empty read is the end of an open shard.
      for (;;) {
        const { Records, NextShardIterator } = await next()
        last = Records.at(-1)?.dynamodb?.SequenceNumber ?? last
        records.push(...Records)
        if (NextShardIterator) iterator = NextShardIterator
        if (Records.length === 0 || !NextShardIterator) return records
      }
    },
  }
}

async function ask(operation: string, input: object): Promise<Answer> {
  const response = await fetch(process.env.DYNAMODB_ENDPOINT ?? '', {
    method: 'POST',
    headers: {
      'Content-Type': 'application/x-amz-json-1.0',
      'X-Amz-Target': `DynamoDBStreams_20120810.${operation}`,
      'X-Amz-Date': '20260101T000000Z',
      Authorization: authorization,
    },
    body: JSON.stringify(input),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${operation}: ${text}`)
  return JSON.parse(text) as Answer
}
