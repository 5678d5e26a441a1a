import { IdempotencyConfig, makeIdempotent } from '@aws-lambda-powertools/idempotency'
import { DynamoDBPersistenceLayer } from '@aws-lambda-powertools/idempotency/dynamodb'
import type { Context } from 'aws-lambda'
import { dynamodbClient } from './dynamodb-table.ts'

/** Longer than a function works on one task, in milliseconds; an expired lease belongs to a crashed one. */
const leaseMilliseconds = 30_000
const keptSeconds = 24 * 3600

/**
 * Runs an effect outside a transaction once for each id. A second run finds the idempotency record of the first and does nothing;
 * a concurrent one is rejected; a failed one may be retried. If the process dies between effect and idempotency record, the
 * effect is made again.
 * @param name the kind of effect, part of the key of its idempotency records
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
