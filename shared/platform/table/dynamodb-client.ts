import { DynamoDBClient } from '@aws-sdk/client-dynamodb'

let client: DynamoDBClient | undefined

/** Returns the client of this process, created on first use. The table retries, within each request's budget. */
export function dynamodbClient(): DynamoDBClient {
  client ??= new DynamoDBClient({
    maxAttempts: 1,
    requestHandler: { connectionTimeout: 1000 },
  })
  return client
}
