import { DynamoDBClient } from '@aws-sdk/client-dynamodb'

/**
 * Creates a client of DynamoDB Local without retries, so a test sees every failure. Throws without an endpoint, because
 * the SDK would use the real AWS.
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
