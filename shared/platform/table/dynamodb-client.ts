import { DynamoDBClient } from '@aws-sdk/client-dynamodb'

let client: DynamoDBClient | undefined

/** The client of this process, made at its first use. Retries are the table's own, inside each request's budget. */
export function dynamodbClient(): DynamoDBClient {
  client ??= new DynamoDBClient({
    maxAttempts: 1,
    requestHandler: { connectionTimeout: 1000 },
  })
  return client
}
