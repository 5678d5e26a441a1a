import {
  DescribeStreamCommand,
  DynamoDBStreamsClient,
  GetRecordsCommand,
  GetShardIteratorCommand,
  ListStreamsCommand,
} from '@aws-sdk/client-dynamodb-streams'
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs'
import { expect, test } from '@jest/globals'
import { failureOf } from '#test/operators/redriving.ts'
import type { listen } from './bus-listener.ts'
import type { Deployment } from './deployment.ts'

interface Running {
  service: Deployment
  listener: Awaited<ReturnType<typeof listen>>
}

const tenant = 'given-up'

/** The engine has no dead-letter queue for streams, so the test sends the message that AWS would send. */
export function redriveOverHttp(running: () => Running): void {
  const access = () => running().service.aws

  /** Returns the batch of an item's changes in the table's stream. */
  async function batchOf(id: string) {
    const streams = new DynamoDBStreamsClient(access())
    const { Streams = [] } = await streams.send(
      new ListStreamsCommand({ TableName: running().service.table }),
    )
    const StreamArn = Streams[0]?.StreamArn
    const { StreamDescription } = await streams.send(new DescribeStreamCommand({ StreamArn }))
    const ShardId = StreamDescription?.Shards?.[0]?.ShardId
    const from = { StreamArn, ShardId, ShardIteratorType: 'TRIM_HORIZON' as const }
    let { ShardIterator } = await streams.send(new GetShardIteratorCommand(from))
    for (;;) {
      const read = await streams.send(new GetRecordsCommand({ ShardIterator }))
      const numbers = (read.Records ?? []).flatMap(({ dynamodb }) =>
        dynamodb?.Keys?.sk?.S === id ? [dynamodb.SequenceNumber] : [],
      )
      if (numbers.length > 0)
        return {
          streamArn: StreamArn,
          shardId: ShardId,
          startSequenceNumber: numbers[0],
          endSequenceNumber: numbers.at(-1),
          batchSize: numbers.length,
        }
      if (!read.Records?.length) throw new Error('the stream has no change of the item')
      ShardIterator = read.NextShardIterator
    }
  }

  const giveUp = (batch: object) =>
    new SQSClient(access()).send(
      new SendMessageCommand({
        QueueUrl: running().service.outputs.EventsRelayDeadLettersUrl,
        MessageBody: JSON.stringify(failureOf(batch)),
      }),
    )

  test('failed changes of the relay are published by redrive, as the same events', async () => {
    const { service, listener } = running()
    const placed = await service.placeOrder(tenant)
    const ours = () => listener.received.filter(({ data }) => data.id === placed.json.id)
    const published = () =>
      ours()
        .map(({ type, event_id }) => `${type} ${event_id}`)
        .toSorted()
    await listener.until(() => ours().length >= 2)
    const once = published()

    const batch = await batchOf(placed.json.id)
    await giveUp(batch)
    const redrive = () => service.run('dead-letters', 'redrive', 'events.relay')
    expect(await redrive()).toEqual([
      { name: 'events.relay', messages: 1, from_stream: 1, from_table: 0, left: 0 },
    ])
    await listener.until(() => ours().length >= 4)
    expect(published()).toEqual([...once, ...once].toSorted())

    // Changes that the stream no longer has are rebuilt from the table.
    await giveUp({ ...batch, shardId: 'shardId-00000001573689847184-864758bb' })
    // Other items of these minutes may have lost events: then the command names them, and the message stays.
    const named = await redrive().then(
      () => '',
      (failure: Error) => failure.message,
    )
    expect(named).not.toContain(placed.json.id)
    await listener.until(() => ours().length >= 6)
    expect(published()).toEqual([...once, ...once, ...once].toSorted())
  })
}
