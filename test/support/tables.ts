import { CreateTableCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { byIdIndex } from '#shared/platform/table/keys.ts'

/** Creates a table as in production, without streams, which slow DynamoDB Local down. */
export async function createTable(
  client: DynamoDBClient,
  name = `t-${crypto.randomUUID()}`,
): Promise<string> {
  await client.send(
    new CreateTableCommand({
      TableName: name,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: ['pk', 'sk', 'id'].map((AttributeName) => ({
        AttributeName,
        AttributeType: 'S',
      })),
      KeySchema: [
        { AttributeName: 'pk', KeyType: 'HASH' },
        { AttributeName: 'sk', KeyType: 'RANGE' },
      ],
      GlobalSecondaryIndexes: [
        {
          IndexName: byIdIndex,
          KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
          Projection: { ProjectionType: 'KEYS_ONLY' },
        },
      ],
    }),
  )
  return name
}
