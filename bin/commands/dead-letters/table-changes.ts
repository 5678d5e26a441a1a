import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import {
  DynamoDBStreamsClient,
  GetRecordsCommand,
  GetShardIteratorCommand,
  type GetShardIteratorCommandInput,
  type _Record as StreamRecord,
} from '@aws-sdk/client-dynamodb-streams'
import { DynamoDBDocumentClient, paginateScan } from '@aws-sdk/lib-dynamodb'
import { marshall } from '@aws-sdk/util-dynamodb'
import type { DynamoDBRecord } from 'aws-lambda'
import type { DeployedStack } from '../stack/deployment.ts'

/** An inclusive range of one shard of the table's stream. */
interface StreamRange {
  streamArn: string
  shardId: string
  startSequenceNumber: string
  endSequenceNumber: string
}

/** A filter on items for a DynamoDB scan. */
export interface ItemFilter {
  FilterExpression: string
  ExpressionAttributeNames: Record<string, string>
  ExpressionAttributeValues: Record<string, string | number>
}

export type TableChanges = ReturnType<typeof tableChanges>

/** An open shard may return empty reads before its next change. This limit ends the loop. */
const maxEmptyReads = 20

/** Returns access to the changes and the content of the table. */
export function tableChanges(TableName: string, access: DeployedStack['access']) {
  const streams = new DynamoDBStreamsClient(access)
  const client = DynamoDBDocumentClient.from(new DynamoDBClient(access))

  return {
    /**
     * Returns the changes of a range, oldest first, as functions receive them. `expired` is set if the stream no longer
     * holds the start of the range.
     */
    async between(range: StreamRange): Promise<{ records: DynamoDBRecord[]; expired: boolean }> {
      const { startSequenceNumber: SequenceNumber } = range
      try {
        const records = await readRange(streams, range, {
          ShardIteratorType: 'AT_SEQUENCE_NUMBER',
          SequenceNumber,
        })
        return { records, expired: false }
      } catch (thrown) {
        if (!isExpired(thrown)) throw thrown
      }
      // The later part of the range may still be in the stream.
      const records = await readRange(streams, range, { ShardIteratorType: 'TRIM_HORIZON' }).catch(
        (thrown) => {
          if (!isExpired(thrown)) throw thrown
          return []
        },
      )
      return { records, expired: true }
    },

    /** Returns items as if each were new, one page of the table at a time. It reads the whole table. */
    async *asNew(filter: ItemFilter): AsyncGenerator<DynamoDBRecord[]> {
      for await (const { Items = [] } of paginateScan({ client }, { TableName, ...filter })) {
        yield Items.map(asInsertion)
      }
    },
  }
}

/** Reads the changes of a range from the start of the range, or from the oldest that the stream holds. */
async function readRange(
  streams: DynamoDBStreamsClient,
  range: StreamRange,
  from: Pick<GetShardIteratorCommandInput, 'ShardIteratorType' | 'SequenceNumber'>,
): Promise<DynamoDBRecord[]> {
  const { streamArn: StreamArn, shardId: ShardId } = range
  const [first, last] = [BigInt(range.startSequenceNumber), BigInt(range.endSequenceNumber)]
  const begun = await streams.send(new GetShardIteratorCommand({ StreamArn, ShardId, ...from }))
  const found: DynamoDBRecord[] = []
  let empty = 0
  for (let iterator = begun.ShardIterator; iterator && empty < maxEmptyReads; ) {
    const { Records = [], NextShardIterator } = await streams.send(
      new GetRecordsCommand({ ShardIterator: iterator }),
    )
    const numbers = Records.map(({ dynamodb }) => BigInt(dynamodb?.SequenceNumber ?? 0))
    const inRange = (number = 0n) => first <= number && number <= last
    found.push(...Records.filter((_, at) => inRange(numbers[at])).map(asEvent))
    if (numbers.some((number) => number >= last)) return found
    empty = Records.length > 0 ? 0 : empty + 1
    iterator = NextShardIterator
  }
  if (from.ShardIteratorType !== 'TRIM_HORIZON') throw new Error('the stream did not return the whole batch')
  return found
}

/** Returns a record in the format of Lambda: the time is a number, in seconds. */
function asEvent({ dynamodb, ...record }: StreamRecord): DynamoDBRecord {
  const { ApproximateCreationDateTime: at, ...change } = dynamodb ?? {}
  const time = at && { ApproximateCreationDateTime: at.getTime() / 1000 }
  return { ...record, dynamodb: { ...change, ...time } } as DynamoDBRecord
}

/** Returns whether the changes or their whole shard are older than a day, or the stream was disabled since. */
function isExpired(thrown: unknown): boolean {
  const { name } = thrown as Error
  return name === 'TrimmedDataAccessException' || name === 'ResourceNotFoundException'
}

function asInsertion(item: Record<string, unknown>, index: number): DynamoDBRecord {
  const NewImage = marshall(item)
  const { pk, sk } = NewImage
  const dynamodb = { Keys: { pk, sk }, NewImage, SequenceNumber: String(index + 1) }
  return { eventName: 'INSERT', eventSource: 'aws:dynamodb', dynamodb } as DynamoDBRecord
}
