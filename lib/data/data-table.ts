import { RemovalPolicy } from 'aws-cdk-lib'
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb'
import type { Key } from 'aws-cdk-lib/aws-kms'
import type { Construct } from 'constructs'
import { byIdIndex } from '#shared/platform/table/keys.ts'
import type { Settings } from '#shared/settings/register.ts'
import type { Stage } from '../stage.ts'

/** The table of the stack, or an adopted one. */
export type DataTable = dynamodb.Table | dynamodb.ITable

/**
 * Creates the only table of the service, for every entity, idempotency record, audit record and outgoing event. A table
 * created by `npx commerce table restore` replaces it once the profile names that table. On a stage that keeps data, the old table
 * remains.
 */
export function dataTable(
  scope: Construct,
  { stage, settings, key }: { stage: Stage; settings: Settings; key: Key | undefined },
): DataTable {
  const restored = settings['storage.restoredTable']
  if (restored) {
    const { tableName, streamArn: tableStreamArn } = restored
    return dynamodb.Table.fromTableAttributes(scope, 'RestoredTable', { tableName, tableStreamArn })
  }
  const warm = settings['storage.warmThroughput']
  const warmThroughput = warm && { readUnitsPerSecond: warm.readUnits, writeUnitsPerSecond: warm.writeUnits }
  const table = new dynamodb.Table(scope, 'Table', {
    partitionKey: { name: 'pk', type: dynamodb.AttributeType.STRING },
    sortKey: { name: 'sk', type: dynamodb.AttributeType.STRING },
    billingMode: dynamodb.BillingMode.PAY_PER_REQUEST,
    ...(key
      ? { encryption: dynamodb.TableEncryption.CUSTOMER_MANAGED, encryptionKey: key }
      : { encryption: dynamodb.TableEncryption.AWS_MANAGED }),
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    ...(settings['storage.contributorInsights'] && {
      contributorInsightsSpecification: {
        enabled: true,
        mode: dynamodb.ContributorInsightsMode.ACCESSED_AND_THROTTLED_KEYS,
      },
    }),
    ...(warmThroughput && { warmThroughput }),
    timeToLiveAttribute: 'expires_at',
    // The relay compares both images to tell new events from events that the item already carried.
    stream: dynamodb.StreamViewType.NEW_AND_OLD_IMAGES,
    deletionProtection: stage.keepsData,
    removalPolicy: removalOfProtected(stage),
  })
  table.addGlobalSecondaryIndex({
    indexName: byIdIndex,
    partitionKey: { name: 'id', type: dynamodb.AttributeType.STRING },
    projectionType: dynamodb.ProjectionType.KEYS_ONLY,
    // An index that cannot keep up throttles the writes of its table.
    ...(warmThroughput && { warmThroughput }),
  })
  return table
}

/**
 * Returns the removal policy of a resource that holds data. A failed first deployment deletes it nevertheless;
 * otherwise its name would be in use at the next attempt.
 */
export function removalPolicyOf(stage: Stage): RemovalPolicy {
  return stage.keepsData ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY
}

/**
 * Returns the removal policy of a resource with deletion protection. A failed deployment that tried to delete it would
 * get stuck.
 */
export function removalOfProtected(stage: Stage): RemovalPolicy {
  return stage.keepsData ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY
}
