import { IdempotencyConfig, makeIdempotent } from '@aws-lambda-powertools/idempotency'
import { DynamoDBPersistenceLayer } from '@aws-lambda-powertools/idempotency/dynamodb'
import type { Context } from 'aws-lambda'
import { dynamodbClient } from '../table/dynamodb-client.ts'

/** Longer than a function works on one piece; after that, whoever worked on it has died, in milliseconds. */
const leaseMilliseconds = 30_000
const keptSeconds = 24 * 3600

/**
 * Runs an effect that is in no transaction once for each id: a second run finds the first one's record and does
 * nothing, one at the same time is refused, and after a failure it may be tried again. A process that dies between the
 * effect and its record leaves the effect to be made again.
 * @param name what is done, in the records' key
 */
export function onceForId(
  name: string,
  tableName: string,
): (id: string, effect: () => Promise<void>) => Promise<void> {
  const persistenceStore = new DynamoDBPersistenceLayer({
    tableName,
    keyAttr: 'pk',
    sortKeyAttr: 'sk',
    staticPkValue: `once#${name}`,
    expiryAttr: 'expires_at',
    awsSdkV3Client: dynamodbClient(),
  })
  const config = new IdempotencyConfig({ hashFunction: 'sha256', expiresAfterSeconds: keptSeconds })
  config.registerLambdaContext({ getRemainingTimeInMillis: () => leaseMilliseconds } as Context)
  const run = async (_id: string, effect: () => Promise<void>) => {
    await effect()
    return true
  }
  const once = makeIdempotent(run, { persistenceStore, config, keyPrefix: name, dataIndexArgument: 0 })
  return async (id, effect) => {
    await once(id, effect)
  }
}
