import { DynamoDBClient } from '@aws-sdk/client-dynamodb'

/**
 * A client of DynamoDB Local that makes one attempt a call, so that a test sees every failure itself.
 * Without an endpoint it throws: the SDK's default would be the real AWS.
 */
export function testClient(endpoint = process.env.DYNAMODB_ENDPOINT): DynamoDBClient {
  if (!endpoint) throw new Error('DYNAMODB_ENDPOINT is not set: run the tests through jest, which sets it.')
  return new DynamoDBClient({
    endpoint,
    region: 'us-east-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    maxAttempts: 1,
  })
}
